"""ELF files, read without tools: their sections, and what decides what their code does, as a hash.

Names of our own and debug data are not loaded, and so no part of the hash: two sources that compile
to the same instructions get one. Whatever is loaded is, however its section is called: a source may
put code or constants into any (`.note.x`, `.debug_x`). Names of imported functions stay in, too:
calling `sinf` is not calling `cosf`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass

SHF_ALLOC = 2
SHT_NOBITS = 8
HEADER = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True, slots=True)
class Section:
    """One section header with its content; zeroed memory has no content."""

    name: str
    kind: int
    flags: int
    size: int
    """bytes in memory"""
    link: int
    info: int
    content: bytes
    address: int = 0
    """where it begins in memory, from where the file is loaded"""


def code_hash(image: bytes) -> str:
    """16 hexadecimal digits over all loaded sections of a shared object.

    One with a build id, which is a hash of debug data as well, shares its own with no other.
    Machine code of a GPU has a hash of its own: `cubin_hash.py`.
    Raises ValueError for what is no 64-bit little-endian ELF file, or one cut short.
    """
    digest = hashlib.sha256()
    for section in read_sections(image):
        if section.flags & SHF_ALLOC:
            digest.update(f"{section.name} {section.size}\n".encode())
            digest.update(section.content)
    return digest.hexdigest()[:16]


def read_sections(image: bytes) -> tuple[Section, ...]:
    """All sections, in the order of the file, which is that of their numbers.

    Raises ValueError for what is no 64-bit little-endian ELF file, or one cut short.
    """
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    try:
        return tuple(_sections(image))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise ValueError(f"the ELF file is damaged: {error}") from error


def _sections(image: bytes) -> Iterator[Section]:
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
    headers = [HEADER.unpack_from(image, table + i * entry) for i in range(count)]
    names_at = headers[names_index][4]
    for name_offset, kind, flags, address, offset, size, link, info, _, _ in headers:
        start = names_at + name_offset
        name = image[start : image.index(b"\0", start)].decode("ascii", "replace")
        content = b"" if kind == SHT_NOBITS else image[offset : offset + size]
        if kind != SHT_NOBITS and len(content) < size:
            raise IndexError(f"section {name} ends after the file")
        yield Section(name, kind, flags, size, link, info, content, address)
