"""The line tables of a cubin: from the offset of an instruction to source and to PTX.

`.debug_line` leads to the source, with the calls that were inlined; `.nv_debug_line_sass` to a line
of the PTX text that the assembler was given. Neither needs a disassembler.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...runners.errors import SpecError
from ...runners.machine_code.cubin import capability, read_symbols
from ...runners.machine_code.elf import Section, read_sections
from ..ptx import Place
from .line_program import Row, read_line_programs

SOURCE_LINES, PTX_LINES = ".debug_line", ".nv_debug_line_sass"
TEXT = ".text."
RELA, REL = 4, 9
RELA_ROW, REL_ROW = struct.Struct("<QQq"), struct.Struct("<QQ")
DAMAGED = (ValueError, LookupError, struct.error, StopIteration)


@dataclass(frozen=True, slots=True)
class LineTable:
    """Places by ascending offset; each holds up to the next one."""

    offsets: tuple[int, ...]
    places: tuple[Place, ...]

    def at(self, offset: int) -> Place:
        """Where an instruction comes from; empty where the table does not say."""
        index = bisect_right(self.offsets, offset) - 1
        return self.places[index] if index >= 0 else ()


NO_LINES = LineTable((), ())


@dataclass(frozen=True, slots=True)
class CubinLines:
    """Both tables of each function section, which is named after its kernel, and bytes of code."""

    sizes: Mapping[str, int]
    source: Mapping[str, LineTable]
    ptx: Mapping[str, LineTable]
    """places of one frame, the line of PTX"""


def read_lines(image: bytes) -> CubinLines:
    """Read both line tables of a cubin; one that it lacks is empty.

    Raises SpecError for what is no cubin, or damaged.
    """
    try:
        capability(image)
        sections = read_sections(image)
        return CubinLines(
            sizes={s.name.removeprefix(TEXT): s.size for s in sections if s.name.startswith(TEXT)},
            source=_tables(SOURCE_LINES, sections),
            ptx=_tables(PTX_LINES, sections),
        )
    except DAMAGED as error:
        raise SpecError(
            f"the line table of the machine code cannot be read: {error}",
            next_step="build the variant again; compile_variant keeps what it makes",
        ) from error


def _tables(name: str, sections: Sequence[Section]) -> dict[str, LineTable]:
    named = {s.name: s for s in sections}
    if name not in named:
        return {}
    texts, line_texts = (
        named[other].content if other in named else b""
        for other in (".debug_str", ".debug_line_str")
    )
    starts = dict(_starts(name, sections))
    rows = dict[str, list[Row]]()
    for sequence in read_line_programs(named[name].content, texts, line_texts):
        if sequence.at not in starts:
            raise ValueError("it does not say of which kernel its lines are")
        kernel, start = starts[sequence.at]
        shift = start - sequence.base
        moved = rows.setdefault(kernel, [])
        moved += [Row(row.address + shift, row.place) for row in sequence.rows]
        moved.append(Row(sequence.end + shift, ()))
    return {kernel: _table(found) for kernel, found in rows.items()}


def _table(rows: list[Row]) -> LineTable:
    """Of rows at one address the last holds, except that an end gives way to a beginning."""
    last = dict[int, Place]()
    for row in rows:
        if row.place or row.address not in last:
            last[row.address] = row.place
    return LineTable(*zip(*sorted(last.items()), strict=True)) if last else NO_LINES


def _starts(name: str, sections: Sequence[Section]) -> Iterator[tuple[int, tuple[str, int]]]:
    """By the place of an address in a line table: the section of code it means, and an offset."""
    symbols = read_symbols(tuple(sections))
    for section in sections:
        if section.kind not in (RELA, REL) or sections[section.info].name != name:
            continue
        row = RELA_ROW if section.kind == RELA else REL_ROW
        for at, info, *addend in row.iter_unpack(section.content):
            symbol = symbols[int(info) >> 32]
            kernel = sections[symbol.section].name.removeprefix(TEXT)
            yield int(at), (kernel, symbol.value + sum(map(int, addend)))
