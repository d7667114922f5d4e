"""The part of an ELF file that decides what its code does, as a hash.

Sections that hold names of our own, notes, unwind tables and debug data are left out, so
that two sources that compile to the same instructions get one hash. Names of imported
functions stay in: calling `sinf` is not calling `cosf`.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

SHF_ALLOC = 2
SHT_NOBITS = 8
IGNORED = (".note", ".eh_frame", ".gnu.hash", ".hash", ".gnu.version", ".comment", ".debug")


def code_hash(image: bytes) -> str:
    """16 hexadecimal digits over all loaded sections that matter.

    Raises ValueError for what is no 64-bit little-endian ELF file, or one cut short.
    """
    digest = hashlib.sha256()
    try:
        for name, size, content in _loaded_sections(image):
            digest.update(f"{name} {size}\n".encode())
            digest.update(content)
    except (struct.error, IndexError) as error:
        raise ValueError(f"the ELF file is damaged: {error}") from error
    return digest.hexdigest()[:16]


def _loaded_sections(image: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Name, bytes in memory, and content; zeroed memory has no content."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", image, table + i * entry) for i in range(count)]
    names_at = headers[names_index][4]
    for name_offset, kind, flags, _, offset, size in headers:
        start = names_at + name_offset
        name = image[start : image.index(b"\0", start)].decode("ascii", "replace")
        if flags & SHF_ALLOC and not name.startswith(IGNORED):
            content = b"" if kind == SHT_NOBITS else image[offset : offset + size]
            if kind != SHT_NOBITS and len(content) < size:
                raise IndexError(f"section {name} ends after the file")
            yield name, size, content
