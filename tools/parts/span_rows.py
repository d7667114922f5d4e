"""Rows of what lines of source became: by line with counts, or instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from ...analysis.ptx import Instruction
from ...analysis.sass import SassInstruction
from ...analysis.spans import OPTIMISED_AWAY, KernelCode, LineCode, SpanCode
from ...analysis.spans.places import describe
from ...analysis.spans.profile import Counts, LineProfile, counts_at
from ...runners.model import Record
from ...runners.wording import significant

TEXT_CHARS = 100
PAGE_CHARS = 3200
"""of rows in a reply, which stays below 1,500 tokens with what stands around them"""


MAX_STALLS = 3


class LineCounts(Record):
    """What a profile counted at the machine instructions of one line; what was 0 is left out."""

    samples: float
    share: float
    """of all samples of the kernel, 0 to 1; an inlined call counts for its caller's line, too"""
    stalls: dict[str, float] | None = None
    """samples by what the warp waited for, the largest three"""
    sectors_per_request: float | None = None
    """of 32 bytes, a global access of a warp"""
    of_ideal: float | None = None
    """sectors asked for over those that the bytes need: 1 is coalesced"""
    bank_conflicts: float | None = None
    """passes through shared memory beyond those needed"""


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
    profile: LineCounts | None = None


def line_rows(
    codes: Sequence[KernelCode],
    spans: Sequence[SpanCode],
    texts: Sequence[str],
    profiles: Mapping[str, LineProfile],
) -> list[LineRow]:
    """A row for each line with machine code, and kernel; `texts` are all lines of the source,
    `profiles` those that there are, by kernel."""
    whole = {name: counts_at(each, each.by_offset).samples for name, each in profiles.items()}
    rows = list[LineRow]()
    for lines in _line_by_line(spans):
        for code, line in zip(codes, lines, strict=True):
            if line.sass:
                kernel = code.entry if len(codes) > 1 else None
                row = _line_row(line, texts[line.line - 1], kernel)
                if (profile := profiles.get(code.entry)) is not None:
                    counts = _line_counts(line, profile, whole[code.entry])
                    row = row.model_copy(update={"profile": counts})
                rows.append(row)
    return rows


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


def sass_rows(
    instructions: Iterable[SassInstruction], profile: LineProfile | None
) -> Iterator[str]:
    """`sass 0x0170: LDG.E R3, desc[UR6][R2.64] // sgemm.cu:17, ptx 59; 12 samples (lg_throttle)`:
    samples and the most frequent stall where a profile has some."""
    for each in instructions:
        above = "" if each.ptx_line is None else f", ptx {each.ptx_line}"
        text = each.text or "(not listed)"
        counted = "" if profile is None else _sampled(counts_at(profile, [each.offset]))
        yield f"sass {each.offset:#06x}: {text} // {describe(each.place)}{above}{counted}"


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


def _sampled(counts: Counts) -> str:
    if not counts.samples:
        return ""
    why = f" ({counts.stalls[0][0]})" if counts.stalls else ""
    return f"; {counts.samples:.0f} samples{why}"


def _line_counts(line: LineCode, profile: LineProfile, whole: float | None) -> LineCounts | None:
    """Counters of a line, and its share of all samples; None where nothing was counted."""
    counts = counts_at(profile, (each.offset for each in line.sass))
    if not (counts.samples or counts.sectors or counts.bank_conflicts):
        return None
    return LineCounts(
        samples=counts.samples or 0.0,
        share=significant((counts.samples or 0.0) / whole) if whole else 0.0,
        stalls=dict(counts.stalls[:MAX_STALLS]) or None,
        sectors_per_request=_ratio(counts.sectors, counts.requests),
        of_ideal=_ratio(counts.sectors, counts.sectors_needed),
        bank_conflicts=counts.bank_conflicts or None,
    )


def _ratio(number: float | None, of: float | None) -> float | None:
    return significant(number / of) if number and of else None


def _line_row(line: LineCode, text: str, kernel: str | None) -> LineRow:
    return LineRow(
        line=line.line,
        text=text.strip()[:TEXT_CHARS],
        kernel=kernel,
        ptx={phase.value: count for phase, count in line.ptx_kinds.most_common()},
        sass={kind: count for kind, count in line.sass_kinds.most_common()},
        of_calls=line.inlined_sass or None,
    )
