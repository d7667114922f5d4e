"""A shared object of a host, read without tools: its code, the functions in it, what it imports.

An instruction is found where some way leads to it: from the start of a section or of a function,
from where a branch goes, from an address that code or a relocation names. So bytes in the middle of
another instruction count where something jumps to them, and not where a constant happens to hold
them. Ways that are worked out while it runs (a jump to a sum) are not seen.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import SpecError
from .elf import SHF_ALLOC, Section, read_sections

SHF_EXECUTABLE = 4
SHT_SYMBOLS, SHT_DYNAMIC_SYMBOLS, SHT_RELOCATIONS = 2, 11, 4
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
FUNCTION = 2
UNDEFINED = 0
MACHINES = {62: "x86_64", 183: "aarch64"}
"""by `e_machine`, as `platform.machine` calls them"""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name with where it lies; in section 0: somebody else has to define it."""

    name: str
    function: bool
    section: int
    address: int


@dataclass(frozen=True)
class SharedObject:
    """What decides what a shared object may do."""

    machine: str
    """of MACHINES; else its number"""
    code: tuple[Section, ...]
    """sections that the processor may execute"""
    symbols: tuple[Symbol, ...]
    addresses: tuple[int, ...]
    """that the loader writes somewhere: functions whose address is taken, and others"""

    @property
    def imports(self) -> tuple[str, ...]:
        """Names that others define, each once."""
        wanted = (s.name for s in self.symbols if s.section == UNDEFINED and s.name)
        return tuple(dict.fromkeys(wanted))

    def starts(self, section: Section) -> list[int]:
        """Where, from its start, something in a section may begin."""
        named = (s.address for s in self.symbols if s.function and s.section != UNDEFINED)
        inside = {at - section.address for at in (*named, *self.addresses)}
        return sorted({0, *(at for at in inside if 0 <= at < section.size)})

    def function_at(self, address: int) -> str:
        """The name of the function before an address; empty: there is none."""
        starts, names = self._functions
        number = bisect_right(starts, address)
        return names[number - 1] if number else ""

    @cached_property
    def _functions(self) -> tuple[list[int], list[str]]:
        mine = [s for s in self.symbols if s.function and s.section != UNDEFINED]
        mine.sort(key=lambda each: each.address)
        return [s.address for s in mine], [s.name for s in mine]


_LENGTH = re.compile(r"[1-9]\d{0,3}")


def read_shared_object(image: bytes) -> SharedObject:
    """Raises SpecError for what is no 64-bit little-endian ELF file, or a damaged one."""
    try:
        sections = read_sections(image)
        (machine,) = struct.unpack_from("<H", image, 0x12)
        symbols = dict.fromkeys(_symbols(sections))
        return SharedObject(
            machine=MACHINES.get(machine, f"number {machine}"),
            code=tuple(s for s in sections if s.flags & SHF_ALLOC and s.flags & SHF_EXECUTABLE),
            symbols=tuple(symbols),
            addresses=tuple(_relocated(sections)),
        )
    except (ValueError, IndexError, struct.error) as error:
        raise SpecError(f"the shared object cannot be read: {error}") from error


def _symbols(sections: Sequence[Section]) -> Iterator[Symbol]:
    for section in sections:
        if section.kind in (SHT_SYMBOLS, SHT_DYNAMIC_SYMBOLS):
            names = sections[section.link].content
            for name, info, _, place, address, _ in SYMBOL.iter_unpack(section.content):
                text = names[name : names.index(b"\0", name)].decode("ascii", "replace")
                yield Symbol(text.partition("@")[0], info & 0xF == FUNCTION, place, address)


def _relocated(sections: Sequence[Section]) -> Iterator[int]:
    for section in sections:
        if section.kind == SHT_RELOCATIONS:
            for _, _, addend in RELOCATION.iter_unpack(section.content):
                yield addend


def name_parts(symbol: str) -> tuple[str, ...]:
    """The identifiers in a C++ name as the Itanium ABI writes it (`_ZNSt6thread6detachEv` has
    `thread` and `detach`: each behind its length); a name of C is one."""
    if not symbol.startswith("_Z"):
        return (symbol,)
    parts, at = list[str](), 2
    while found := _LENGTH.search(symbol, at):
        at = found.end() + int(found[0])
        if at > len(symbol):
            at = found.end()
        else:
            parts.append(symbol[found.end() : at])
    return tuple(parts)
