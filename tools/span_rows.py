"""Rows of what lines of source became: by line with counts, or instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from ..analysis.places import describe
from ..analysis.ptx import Instruction
from ..analysis.sass import SassInstruction
from ..analysis.spans import OPTIMISED_AWAY, KernelCode, LineCode, SpanCode
from ..runners.model import Record

TEXT_CHARS = 100
PAGE_CHARS = 3200
"""of rows in a reply, which stays below 1,500 tokens with what stands around them"""


class LineRow(Record):
    """What one line became in one kernel."""

    line: int
    text: str
    kernel: str | None = None
    """where several are launched"""
    ptx: dict[str, int]
    """instructions by what they do, with those of calls that were inlined here"""
    sass: dict[str, int]
    """likewise of the machine code; `integer conversion move constant control` are what PTX has as
    `address`"""
    of_calls: int | None = None
    """how many of the machine instructions come from such calls"""


def line_rows(
    codes: Sequence[KernelCode], spans: Sequence[SpanCode], texts: Sequence[str]
) -> list[LineRow]:
    """A row for each line with machine code, and kernel; `texts` are all lines of the source."""
    return [
        _line_row(line, texts[line.line - 1], code.entry if len(codes) > 1 else None)
        for lines in _line_by_line(spans)
        for code, line in zip(codes, lines, strict=True)
        if line.sass
    ]


def without_code(spans: Sequence[SpanCode]) -> dict[str, str]:
    """The lines that have machine code in no kernel, by the reason."""
    found = dict[str, list[int]]()
    for lines in _line_by_line(spans):
        reasons = [line.why_none for line in lines]
        if all(reasons):
            # a kernel that the line is not of says less than the one that lost it
            reason = OPTIMISED_AWAY if OPTIMISED_AWAY in reasons else reasons[0]
            found.setdefault(reason, []).append(lines[0].line)
    return {reason: runs(numbers) for reason, numbers in found.items()}


def ptx_rows(instructions: Iterable[Instruction]) -> Iterator[str]:
    """`ptx 59: ld.global.f32 %f1, [%rd4]; // sgemm.cu:17`."""
    return (f"ptx {each.line}: {each.text} // {describe(each.place)}" for each in instructions)


def sass_rows(instructions: Iterable[SassInstruction]) -> Iterator[str]:
    """`sass 0x0170: LDG.E R3, desc[UR6][R2.64] // sgemm.cu:17, ptx 59`."""
    for each in instructions:
        above = "" if each.ptx_line is None else f", ptx {each.ptx_line}"
        text = each.text or "(not listed)"
        yield f"sass {each.offset:#06x}: {text} // {describe(each.place)}{above}"


def page_of(rows: Sequence[LineRow] | Sequence[str], offset: int) -> int:
    """How many rows from `offset` on go into a reply: at least one."""
    sizes = (
        len(row if isinstance(row, str) else row.model_dump_json(exclude_none=True))
        for row in rows[offset:]
    )
    return max(1, sum(size <= PAGE_CHARS for size in accumulate(sizes)))


def runs(numbers: Iterable[int]) -> str:
    """`3, 7-9`: ascending numbers, those that follow each other shortened."""
    found = list[tuple[int, int]]()
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def _line_by_line(spans: Sequence[SpanCode]) -> Iterator[tuple[LineCode, ...]]:
    return zip(*(span.lines for span in spans), strict=True)


def _line_row(line: LineCode, text: str, kernel: str | None) -> LineRow:
    return LineRow(
        line=line.line,
        text=text.strip()[:TEXT_CHARS],
        kernel=kernel,
        ptx={phase.value: count for phase, count in line.ptx_kinds.most_common()},
        sass={kind: count for kind, count in line.sass_kinds.most_common()},
        of_calls=line.inlined_sass or None,
    )
