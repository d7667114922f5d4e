"""Candidates that rules have written, by a handle: the same state gives the same ones again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...evaluation.difference import source_diff
from ...runners.errors import HandleUnknown, SpecError
from ...runners.model import Candidate, Record, content_hash
from ...runners.wording import shortened
from ...search.planning.planner import Context, without_held_out
from ...search.planning.rules import Explanation, explain
from ...search.stored.variants import state_of, variant_from

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...search.stored.hot_regions import HotRegions
    from ...store.records import KernelRecord, VariantRecord

LONGEST_DIFF = 240
LISTED = 8


class ReadyCandidate(Record):
    """A candidate that compile_variant takes by its handle."""

    ready: str
    """give it to compile_variant, with this variant as base"""
    detail: str
    prior: float
    """weight beside other candidates; predicted by rule, not measured"""
    predicted_gain: float | None = None
    parameters: dict[str, int] | None = None
    options: dict[str, Any] | None = None
    knobs: dict[str, tuple[int, ...]] | None = None
    """tuned together by search_step; compile_variant builds it as it stands"""
    diff: str | None = None
    """of the source; a long one is left out"""
    touches_hot_region: str | None = None
    """`no, by its lines: ...`: it keeps away from what the variant's profile blames; null: it may
    touch that, or there is no profile"""


def explained(kernel: KernelRecord, record: VariantRecord) -> tuple[Explanation, ...]:
    """What every method of the catalogue has to offer at a variant."""
    state = state_of(kernel, record.variant)
    state = replace(state, spec=without_held_out(state.spec))
    return explain(Context(search_id="", variant_id=record.variant.variant_id, state=state))


def ready_candidate(
    hot: HotRegions, record: VariantRecord, candidate: Candidate, factor: float
) -> ReadyCandidate:
    """As a reply tells it; `factor`: what is known of the variant makes of its prior."""
    kernel = hot.kernel
    diff, options = candidate.diff, candidate.options
    if candidate.source is not None:
        diff = source_diff(record.variant.source, candidate.source, kernel.loaded.source_name)
    return ReadyCandidate(
        ready=handle_of(candidate),
        detail=shortened(candidate.detail, 100),
        prior=round(candidate.prior * factor, 3),
        predicted_gain=candidate.predicted_gain,
        parameters=candidate.parameters,
        options=None if options is None else options.model_dump(exclude_none=True, mode="json"),
        knobs=candidate.knobs,
        diff=None if diff is None or len(diff) > LONGEST_DIFF else diff,
        touches_hot_region=hot.foreseen(record.variant.variant_id, candidate),
    )


def handle_of(candidate: Candidate) -> str:
    """`r1a2b3c4d`, of what the candidate changes."""
    changes = candidate.model_dump(mode="json", exclude={"prior", "predicted_gain", "detail"})
    return "r" + content_hash(changes, 8)


def ready_made(kernel: KernelRecord, record: VariantRecord, handle: str) -> Candidate:
    """The candidate of a handle that was told for this variant. Raises HandleUnknown."""
    known = {handle_of(c): c for found in explained(kernel, record) for c in found.candidates}
    if handle not in known:
        listed = [f"{each} ({c.method}: {shortened(c.detail, 60)})" for each, c in known.items()]
        more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
        raise HandleUnknown(
            f"no rule writes a candidate `{handle}` at {record.variant.variant_id}",
            valid=(", ".join(listed[:LISTED]) + more) or "no rule fits this variant",
            next_step="call propose_moves with this variant, and give it as base",
        )
    return known[handle]


def without_evaluated(
    bench: Bench, kernel: KernelRecord, record: VariantRecord, found: Explanation
) -> Explanation:
    """Without candidates that were evaluated before."""
    new = tuple(c for c in found.candidates if not _was_evaluated(bench, kernel, record, c))
    tried = len(found.candidates) - len(new)
    if not tried:
        return found
    reason = None if new else f"all {tried} candidates were tried"
    return found.model_copy(update={"candidates": new, "tried": tried, "reason": reason})


def _was_evaluated(
    bench: Bench, kernel: KernelRecord, record: VariantRecord, candidate: Candidate
) -> bool:
    if candidate.knobs is not None:
        return False
    try:
        variant = variant_from(kernel, record.variant, candidate)
    except SpecError:  # the evaluation would reject it; whoever sends it is told why
        return False
    known = bench.evaluator.evaluation(variant.variant_id)
    return known is not None and known.ending.final
