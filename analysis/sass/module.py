"""The machine code of a cubin as instructions that know where in source and PTX they come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...runners.machine_code.cubin import INSTRUCTION_BYTES, read_cubin
from ..ptx import Place
from .classes import SassClass, class_of
from .line_tables import NO_LINES, CubinLines, read_lines
from .listing import Listed, read_listing

NO_LISTING = "names of machine instructions: no disassembler (nvdisasm) was there to list them"
NO_SOURCE_LINES = "lines of source: the machine code of `{}` was built without line information"
NO_PTX_LINES = "lines of PTX: the machine code of `{}` does not say them"
_UNNAMED = Listed("", "", "")


@dataclass(frozen=True, slots=True)
class SassInstruction:
    """One machine instruction, 16 bytes."""

    offset: int
    """bytes from the start of its kernel; what a profiler's address is relative to"""
    opcode: str
    """with its modifiers; empty without a listing"""
    operands: str
    guard: str
    place: Place
    """in the source, as the cubin says: Triton's says no callers, and none says columns"""
    ptx_line: int | None
    """of the PTX text that was assembled, from 1"""

    @property
    def kind(self) -> SassClass:
        """What it does."""
        return class_of(self.opcode)

    @property
    def text(self) -> str:
        """`@P0 LDG.E R0, desc[UR4][R2.64]`."""
        return " ".join(filter(None, (self.guard, self.opcode, self.operands)))


@dataclass(frozen=True, slots=True)
class Sass:
    """The instructions of every kernel of a cubin, in order, the padding at the end left out."""

    kernels: Mapping[str, tuple[SassInstruction, ...]]
    """functions that were not inlined stand behind the kernel that calls them"""
    missing: tuple[str, ...]
    """what could not be known, in words"""


def read_sass(image: bytes, listing: str | None = None) -> Sass:
    """Read a cubin, with the listing of its instructions where there is one.

    Raises SpecError for what is no cubin, or damaged.
    """
    info, lines = read_cubin(image), read_lines(image)
    listed = {} if listing is None else read_listing(listing)
    kernels = {
        name: tuple(_instructions(name, entry.instructions, lines, listed.get(name, {})))
        for name, entry in info.entries.items()
    }
    return Sass(kernels, tuple(_missing(kernels, lines, listed)))


def _instructions(
    name: str, count: int, lines: CubinLines, listed: Mapping[int, Listed]
) -> Iterator[SassInstruction]:
    source, ptx = lines.source.get(name, NO_LINES), lines.ptx.get(name, NO_LINES)
    for offset in range(0, count * INSTRUCTION_BYTES, INSTRUCTION_BYTES):
        opcode, operands, guard = listed.get(offset, _UNNAMED)
        below = ptx.at(offset)
        yield SassInstruction(
            offset, opcode, operands, guard, source.at(offset), below[0].line if below else None
        )


def _missing(
    kernels: Mapping[str, object], lines: CubinLines, listed: Mapping[str, object]
) -> Iterator[str]:
    if kernels and not set(kernels) <= set(listed):
        yield NO_LISTING
    yield from (NO_SOURCE_LINES.format(name) for name in kernels if name not in lines.source)
    yield from (NO_PTX_LINES.format(name) for name in kernels if name not in lines.ptx)
