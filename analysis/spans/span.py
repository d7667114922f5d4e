"""From lines of source to the PTX and machine code that they became, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...runners.errors import SpecError
from ..ptx import Instruction, Place
from ..ptx.effects import Phase, effect
from ..sass import SassClass, SassInstruction
from .code import KernelCode, lines_of
from .places import same_file
from .source_line import LineKind, SourceLine

OPTIMISED_AWAY = "no machine code: optimised away"
NO_CODE: Mapping[LineKind, str] = {
    "code": OPTIMISED_AWAY,
    "blank": "no code: blank",
    "comment": "no code: a comment",
    "declaration": "no code: declares, computes nothing",
    "punctuation": "no code: punctuation",
    "directive": "no code: for the preprocessor",
    "outside": "no code: outside the functions that run on the device",
}
ELSEWHERE = "no code of this kernel: nothing of `{}` is in it"
CONTINUED = "no machine code of its own: lines {} to {} are one statement, see {}"


@dataclass(frozen=True, slots=True)
class LineCode:
    """What one line of source became."""

    line: int
    ptx: tuple[Instruction, ...]
    sass: tuple[SassInstruction, ...]
    inlined_ptx: int
    inlined_sass: int
    """how many of these come from calls in the line, and not from the line itself"""
    why_none: str
    """why there is no machine code; empty where there is"""

    @property
    def ptx_kinds(self) -> Counter[Phase]:
        """PTX instructions by what they do."""
        return Counter(effect(each.opcode).phase for each in self.ptx)

    @property
    def sass_kinds(self) -> Counter[SassClass]:
        """Machine instructions by what they do."""
        return Counter(each.kind for each in self.sass)


@dataclass(frozen=True, slots=True)
class SpanCode:
    """What some lines of source became. An instruction of a call stands at every line of its
    chain, so that sums over lines count it several times; `ptx` and `sass` hold it once."""

    source: str
    lines: tuple[LineCode, ...]

    @property
    def ptx(self) -> tuple[Instruction, ...]:
        """All PTX instructions of the lines, in the order of the text."""
        found = {each.line: each for line in self.lines for each in line.ptx}
        return tuple(found[number] for number in sorted(found))

    @property
    def sass(self) -> tuple[SassInstruction, ...]:
        """All machine instructions of the lines, by ascending offset."""
        found = {each.offset: each for line in self.lines for each in line.sass}
        return tuple(found[offset] for offset in sorted(found))


def code_of_span(
    code: KernelCode, source: str, first: int, last: int, lines: Sequence[SourceLine]
) -> SpanCode:
    """What the lines `first` to `last` of a source became; lines count from 1, both included.

    `source` is the file's name, or the end of its path; `lines` says what its lines are
    (`source_lines`). Raises SpecError for a span that is not within the source.
    """
    if not 1 <= first <= last <= len(lines):
        raise SpecError(
            f"lines {first} to {last} are no lines of {source}",
            valid=f"1 <= start <= end <= {len(lines)}",
        )
    ptx, sass = _by_line(code.ptx, source), _by_line(code.sass, source)
    with_code = {*ptx, *sass}
    functions = {lines[n - 1].function for n in with_code if n <= len(lines)}

    def line_code(line: int) -> LineCode:
        above, below = tuple(ptx.get(line, ())), tuple(sass.get(line, ()))
        return LineCode(
            line=line,
            ptx=above,
            sass=below,
            inlined_ptx=sum(not is_own(each.place, source, line) for each in above),
            inlined_sass=sum(not is_own(each.place, source, line) for each in below),
            why_none="" if below else why_none(line, has_ptx=bool(above)),
        )

    def why_none(line: int, has_ptx: bool) -> str:
        told = lines[line - 1]
        return OPTIMISED_AWAY if has_ptx else _why_none(told, functions, with_code)

    return SpanCode(source, tuple(map(line_code, range(first, last + 1))))


Each = TypeVar("Each", Instruction, SassInstruction)


def _by_line(instructions: Iterable[Each], source: str) -> dict[int, list[Each]]:
    found = dict[int, list[Each]]()
    for each in instructions:
        for line in dict.fromkeys(lines_of(each.place, source)):
            found.setdefault(line, []).append(each)
    return found


def _why_none(line: SourceLine, functions: Collection[str], with_code: Collection[int]) -> str:
    """Why a line has neither PTX nor machine code; `with_code`: the lines that have some, and
    `functions`: what these are in."""
    if line.kind not in ("code", "declaration", "punctuation"):
        return NO_CODE[line.kind]
    if line.function not in functions:
        return ELSEWHERE.format(line.function)
    others = [n for n in line.statement if n in with_code]
    if others:
        told = ", ".join(map(str, others))
        return CONTINUED.format(line.statement[0], line.statement[-1], told)
    return NO_CODE[line.kind]


def is_own(place: Place, source: str, line: int) -> bool:
    """Whether a line is the innermost place, and not that of a call around it."""
    return bool(place) and place[0].line == line and same_file(place[0].file, source)
