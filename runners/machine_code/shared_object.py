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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..errors import SpecError
from .elf import SHF_ALLOC, Section, read_sections

SHF_EXECUTABLE = 4
SHT_SYMBOLS, SHT_DYNAMIC_SYMBOLS, SHT_RELOCATIONS = 2, 11, 4
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION = struct.Struct("<QQq")
SLOT_KINDS = frozenset({6, 7})
"""relocations of x86-64 that fill the table of addresses: GLOB_DAT and JUMP_SLOT"""
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
    size: int = 0
    """bytes; 0: not told"""


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
    slots: Mapping[int, str] = field(default_factory=dict[int, str])
    """of the table through which code calls by name: address of an entry, and the name"""
    data_names: tuple[str, ...] = ()
    """whose addresses the loader writes into other data"""

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
        tables = [s for s in sections if s.kind in (SHT_SYMBOLS, SHT_DYNAMIC_SYMBOLS)]
        symbols = dict.fromkeys(each for table in tables for each in _symbols(table, sections))
        named = list(_named(sections))
        return SharedObject(
            machine=MACHINES.get(machine, f"number {machine}"),
            code=tuple(s for s in sections if s.flags & SHF_ALLOC and s.flags & SHF_EXECUTABLE),
            symbols=tuple(symbols),
            addresses=tuple(_relocated(sections)),
            slots={place: name for place, kind, name in named if kind in SLOT_KINDS},
            data_names=tuple(name for _, kind, name in named if kind not in SLOT_KINDS),
        )
    except (ValueError, IndexError, struct.error) as error:
        raise SpecError(f"the shared object cannot be read: {error}") from error


def _symbols(table: Section, sections: Sequence[Section]) -> Iterator[Symbol]:
    names = sections[table.link].content
    for name, info, _, place, address, size in SYMBOL.iter_unpack(table.content):
        text = names[name : names.index(b"\0", name)].decode("ascii", "replace")
        yield Symbol(text.partition("@")[0], info & 0xF == FUNCTION, place, address, size)


def _relocated(sections: Sequence[Section]) -> Iterator[int]:
    for section in sections:
        if section.kind == SHT_RELOCATIONS:
            for _, _, addend in RELOCATION.iter_unpack(section.content):
                yield addend


def _named(sections: Sequence[Section]) -> Iterator[tuple[int, int, str]]:
    """Place, kind and symbol of the relocations that have a symbol."""
    for section in sections:
        if section.kind == SHT_RELOCATIONS and section.link:
            symbols = list(_symbols(sections[section.link], sections))
            for place, info, _ in RELOCATION.iter_unpack(section.content):
                if number := info >> 32:
                    yield place, info & 0xFFFFFFFF, symbols[int(number)].name


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
