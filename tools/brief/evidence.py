"""What bounds a variant, as blocks of a brief: roofs, findings, structure, the slowest lines.

Only what is kept is read: nothing is built, run or measured for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...evaluation.evidence.evidence import KnownFindings, measured_ms
from ...evaluation.evidence.headroom import known_headroom
from ...search.planning.brief import code_block

if TYPE_CHECKING:
    from ...analysis.regions import RegionDag
    from ...analysis.spans import KernelCode
    from ...analysis.spans.profile import LineProfile
    from ...evaluation.bench import Bench
    from ...evaluation.evidence.kernel_code import SourceFile
    from ...store.records import KernelRecord
    from ..parts.span_rows import LineRow

LINES = 6
"""source lines that are told of, those with most samples"""
INSTRUCTIONS = 12
"""machine instructions of each"""


def bound_blocks(
    bench: Bench, kernel: KernelRecord, variant_id: str, known: KnownFindings
) -> list[str]:
    """How near each workload is to its floor; then the page on the profile, or on plan and PTX."""
    from ...analysis.rules.card import card

    blocks = list[str]()
    times = measured_ms(bench, kernel, variant_id)
    if times and (told := known_headroom(bench, kernel, times)):
        blocks += [f"- {line}" for line in told.splitlines()]
    page = known.profile or known.planned
    if page is not None:
        how = "profile" if known.profile else "launch plan, compiler and PTX; no profile is kept"
        blocks.append(f"From the {how}, workload {known.workload}:")
        blocks.append(code_block("", card(page, known.found)))
    return blocks


def fired_skills(known: KnownFindings) -> tuple[str, ...]:
    """Pages on what fired, the finding to act on first before the others."""
    return tuple(dict.fromkeys(each.skill for each in known.found.ranked))


def region_blocks(known: KnownFindings) -> list[str]:
    """A digest of each kernel's loops and of the regions with most work."""
    return [_digest(dag) for dag in known.dags.values()]


def line_blocks(bench: Bench, variant_id: str, known: KnownFindings) -> list[str]:
    """The source lines with most samples and their machine code; none without a profile."""
    from ...analysis.spans import code_of_span
    from ...evaluation.evidence.kernel_code import code_of_variant, file_of_variant
    from ...runners.errors import KernelwrightError
    from ..parts.span_rows import line_rows

    if known.profile is None:
        return []
    try:
        codes = code_of_variant(bench, variant_id, known.workload, None)
        file = file_of_variant(bench, variant_id, None)
    except KernelwrightError as error:  # no disassembler, or a build that is gone
        return [f"(machine code by line is not known here: {error.message})"]
    profiles = _profiles(known, codes)
    spans = [code_of_span(each, file.name, 1, len(file.texts), file.lines) for each in codes]
    rows = line_rows(codes, spans, file.texts, profiles)
    slowest = sorted((r for r in rows if r.profile), key=lambda r: -_share(r))[:LINES]
    return [_line(row, codes, profiles, file) for row in slowest]


def _profiles(known: KnownFindings, codes: Sequence[KernelCode]) -> dict[str, LineProfile]:
    from ...analysis.profile.shares import longest
    from ...analysis.spans.profile import LineProfile, line_profile, other_build

    assert known.profile is not None
    found = dict[str, LineProfile]()
    for code in codes:
        launch = longest(known.profile, code.entry)
        if launch is not None and launch.instructions and not other_build(launch, code):
            found[code.entry] = line_profile(launch)
    return found


def _share(row: LineRow) -> float:
    return 0.0 if row.profile is None else row.profile.share


def _line(
    row: LineRow,
    codes: Sequence[KernelCode],
    profiles: dict[str, LineProfile],
    file: SourceFile,
) -> str:
    from ...analysis.spans import code_of_span
    from ..parts.span_rows import sass_rows

    assert row.profile is not None
    code = next(each for each in codes if row.kernel in (None, each.entry))
    stalls = ", ".join(f"{why} {count:.0f}" for why, count in (row.profile.stalls or {}).items())
    waits = f", waits for {stalls}" if stalls else ""
    head = f"line {row.line}, {row.profile.share:.0%} of the samples{waits}: `{row.text}`"
    span = code_of_span(code, file.name, row.line, row.line, file.lines)
    listed = list(sass_rows(span.sass, profiles.get(code.entry)))
    rest = [f"... {len(listed) - INSTRUCTIONS} more"] if len(listed) > INSTRUCTIONS else []
    return head + "\n" + code_block("", "\n".join((*listed[:INSTRUCTIONS], *rest)))


def _digest(dag: RegionDag) -> str:
    """Totals on one line, then a line a loop and a region with much work."""
    from ...analysis.regions import overview

    told = overview(dag)
    head = (
        f"`{told.entry}`: {told.instructions} instructions in {told.regions} regions, "
        f"live registers {told.live_registers}; shared memory {told.shared_bytes} B; "
        f"branches: {told.branches}"
    )
    loops = (
        f"- loop {row.name}{f' in {row.inside}' if row.inside else ''}, {row.trips} times: "
        f"{_counts(row.per_iteration)} an iteration"
        for row in told.loops
    )
    regions = (
        f"- region {row.name} ({row.what}), {row.times} times, {row.share}: {_counts(row.work)}"
        for row in told.hottest_regions
    )
    return "\n".join((head, *(f"- {each}" for each in told.pipelines), *loops, *regions))


def _counts(counts: Mapping[str, int | str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
