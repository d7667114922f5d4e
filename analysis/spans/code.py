"""A kernel's PTX and machine code side by side, each instruction with its place in the source.

The machine code's own line table says which line an instruction comes from. Where the PTX line it
was assembled from says the same, that one's place is taken, since it knows more: columns; for
Triton, whose cubins name no callers, the calls up to the user's line; and of one function inlined
twice in a row, the second call, for which ptxas 13.0 begins no new row of its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...runners.errors import SpecError
from ..ptx import Function, Instruction, Module, Place
from ..sass import Sass, SassInstruction
from .places import same_file


@dataclass(frozen=True)
class KernelCode:
    """A kernel, with the functions that it calls and that were not inlined."""

    entry: str
    ptx: tuple[Instruction, ...]
    """in the order of the text"""
    sass: tuple[SassInstruction, ...]
    """by ascending offset; places completed from the PTX"""
    listed: Mapping[int, Place]
    """by the offset of each machine instruction: its place as the machine code's own line table
    has it, before the PTX completed it; a profiler reads this one"""
    missing: tuple[str, ...]
    """what could not be known, in words"""
    by_ptx_line: Mapping[int, Instruction]
    """the PTX instruction on a line of the text; on those of a function's head, its first one,
    since that is what assemblers name for what every kernel begins with"""

    @cached_property
    def by_offset(self) -> Mapping[int, SassInstruction]:
        """The machine instruction at each offset, in bytes from the kernel's start."""
        return {each.offset: each for each in self.sass}

    @cached_property
    def assembled(self) -> Mapping[int, tuple[SassInstruction, ...]]:
        """The machine instructions made of each PTX instruction, by its line; none of those of
        which nothing is left."""
        found = dict[int, list[SassInstruction]]()
        for each in self.sass:
            above = None if each.ptx_line is None else self.by_ptx_line.get(each.ptx_line)
            if above is not None:
                found.setdefault(above.line, []).append(each)
        return {line: tuple(made) for line, made in found.items()}


def join(entry: str, ptx: Module, sass: Sass) -> KernelCode:
    """The code of one kernel. Raises SpecError when it is in neither text."""
    names = {each.name for each in ptx.entries} | set(sass.kernels)
    if entry not in names:
        raise SpecError(f"no kernel `{entry}` in this code", valid=", ".join(sorted(names)))
    machine = sass.kernels.get(entry, ())
    lines = {each.ptx_line for each in machine}
    own = [each for each in ptx.functions if each.name == entry or _holds(each, lines)]
    by_line = dict[int, Instruction]()
    for function in own:
        first = function.instructions[0].line if function.instructions else function.line
        by_line |= {line: function.instructions[0] for line in range(function.line, first)}
        by_line |= {each.line: each for each in reversed(function.instructions)}
    return KernelCode(
        entry=entry,
        ptx=tuple(each for function in own for each in function.instructions),
        sass=tuple(_completed(each, by_line) for each in machine),
        listed={each.offset: each.place for each in machine},
        missing=sass.missing,
        by_ptx_line=by_line,
    )


def lines_of(place: Place, source: str) -> tuple[int, ...]:
    """The lines of one source file in a place, the innermost first."""
    return tuple(frame.line for frame in place if same_file(frame.file, source))


def lines_of_offset(code: KernelCode, source: str, offset: int) -> tuple[int, ...]:
    """The lines of a source that a machine instruction comes from, the innermost first.

    Raises SpecError for an offset at which no instruction begins.
    """
    return lines_of(instruction_at(code, offset).place, source)


def lines_of_ptx(code: KernelCode, source: str, line: int) -> tuple[int, ...]:
    """The lines of a source that a line of the PTX text comes from, the innermost first; empty
    where that line holds no instruction of the kernel."""
    found = code.by_ptx_line.get(line)
    return () if found is None else lines_of(found.place, source)


def instruction_at(code: KernelCode, offset: int) -> SassInstruction:
    """The machine instruction at an offset. Raises SpecError where none begins."""
    found = code.by_offset.get(offset)
    if found is None:
        last = code.sass[-1].offset if code.sass else 0
        raise SpecError(
            f"no instruction of `{code.entry}` begins at {offset:#06x}",
            valid=f"multiples of 16 up to {last:#06x} ({last})",
        )
    return found


def _holds(function: Function, lines: set[int | None]) -> bool:
    """Whether a function is no kernel and machine code was made of it."""
    inside = range(function.line, function.last_line + 1)
    return function.kind == "func" and any(line in inside for line in lines if line is not None)


def _completed(each: SassInstruction, by_line: Mapping[int, Instruction]) -> SassInstruction:
    above = by_line.get(each.ptx_line) if each.ptx_line is not None else None
    if above is None or not above.place:
        return each
    agree = not each.place or (
        each.place[0].line == above.place[0].line
        and same_file(each.place[0].file, above.place[0].file)
    )
    return replace(each, place=above.place) if agree else each
