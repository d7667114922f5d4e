"""The verb `propose_moves`: what could be tried from a variant, the likeliest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..runners.errors import SpecError
from ..runners.model import Candidate, Record
from ..search.planner import Context, without_held_out
from ..search.rules_planner import Explanation, explain
from .base import Arguments, Tool
from .describing import cut, resolve_variant, speedup_of
from .difference import source_diff

if TYPE_CHECKING:
    from .records import KernelRecord, VariantRecord
    from .workbench import Workbench

LONGEST_DIFF = 800


class ProposeMovesArguments(Arguments):
    """Where to start from, and how much to tell."""

    kernel_id: str
    variant_id: str = "incumbent"
    """a variant_id, incumbent or baseline"""
    limit: int = Field(default=4, ge=1, le=50)
    """ready-made candidates a move, 1 to 50"""


class ReadyCandidate(Record):
    """A candidate as compile_variant and search_step take it."""

    detail: str
    prior: float
    """relative weight; predicted by rule, not measured"""
    predicted_gain: float | None = None
    parameters: dict[str, int] | None = None
    options: dict[str, Any] | None = None
    diff: str | None = None
    left_out: str | None = None
    """why its source or diff is not here"""


class ProposedMove(Record):
    """A transformation that fits, with candidates that were not evaluated yet."""

    method: str
    why: str
    prior: float
    candidates: tuple[ReadyCandidate, ...]
    more: int = 0
    """further candidates of this move; raise limit to see them"""
    tried: int = 0
    """candidates of this move that were evaluated before, left out here"""


class ProposedMoves(Record):
    """What could be tried, the likeliest first."""

    kernel_id: str
    variant_id: str
    speedup: float | None = None
    """of this variant over the baseline"""
    moves: tuple[ProposedMove, ...]
    by_hand: dict[str, str]
    """method -> what it is: no rule writes it, you can"""
    do_not_fit: dict[str, str]
    """method -> why not"""
    next: str


def propose_moves(bench: Workbench, arguments: ProposeMovesArguments) -> ProposedMoves:
    """List what could be tried from a variant: moves by prior, with ready-made candidates.

    Candidates go to compile_variant as they are (parameters, options or diff, base: this
    variant), or to search_step with a ticket. Methods under by_hand need source written by
    you. What was evaluated before is left out. Priors are rules of thumb: measure. Nothing is
    built or run; takes under 1 s. For rules alone let search_step do it.
    Example: {"kernel_id": "softmax-1a2b3c4d"}
    """
    kernel = bench.evaluator.kernel(arguments.kernel_id)
    record = resolve_variant(bench, kernel, arguments.variant_id)
    found = explain(_context(kernel, record))
    moves = [_move(bench, kernel, record, e, arguments.limit) for e in found if e.candidates]
    ranked = sorted((m for m in moves if m.candidates), key=lambda m: -m.prior)
    used_up = {m.method: f"all {m.tried} candidates were tried" for m in moves if not m.candidates}
    without = [e for e in found if not e.candidates]
    return ProposedMoves(
        kernel_id=kernel.kernel_id,
        variant_id=record.variant.variant_id,
        speedup=speedup_of(bench, record.variant.variant_id),
        moves=tuple(ranked),
        by_hand={e.method: e.meaning for e in without if _by_hand(e)},
        do_not_fit={e.method: e.reason or "" for e in without if not _by_hand(e)} | used_up,
        next="compile_variant with a candidate"
        + (", then time_variant; or search_step" if bench.gpus.runs(kernel.loaded) else ""),
    )


def _context(kernel: KernelRecord, record: VariantRecord) -> Context:
    from dataclasses import replace

    from .candidates import state_of

    state = state_of(kernel, record.variant)
    state = replace(state, spec=without_held_out(state.spec))
    return Context(search_id="", variant_id=record.variant.variant_id, state=state)


def _by_hand(explanation: Explanation) -> bool:
    return explanation.category is None and (explanation.reason or "").startswith("no rule")


def _move(
    bench: Workbench, kernel: KernelRecord, record: VariantRecord, found: Explanation, limit: int
) -> ProposedMove:
    new = [c for c in found.candidates if not _was_evaluated(bench, kernel, record, c)]
    return ProposedMove(
        method=found.method,
        why=found.meaning,
        prior=max((round(c.prior, 3) for c in new), default=0.0),
        candidates=tuple(_ready(c, kernel, record) for c in new[:limit]),
        more=max(0, len(new) - limit),
        tried=len(found.candidates) - len(new),
    )


def _was_evaluated(
    bench: Workbench, kernel: KernelRecord, record: VariantRecord, candidate: Candidate
) -> bool:
    from .candidates import variant_from

    try:
        variant = variant_from(kernel, record.variant, candidate)
    except SpecError:  # the evaluation would reject it; whoever sends it is told why
        return False
    known = bench.evaluator.evaluation(variant.variant_id)
    return known is not None and known.ending.final


def _ready(candidate: Candidate, kernel: KernelRecord, record: VariantRecord) -> ReadyCandidate:
    diff = candidate.diff
    if candidate.source is not None:
        name = kernel.loaded.source_name
        diff = source_diff(record.variant.source, candidate.source, name)
    long = len(diff or "") > LONGEST_DIFF
    options = candidate.options
    return ReadyCandidate(
        detail=cut(candidate.detail, 200),
        prior=round(candidate.prior, 3),
        predicted_gain=candidate.predicted_gain,
        parameters=candidate.parameters,
        options=None if options is None else options.model_dump(exclude_none=True, mode="json"),
        diff=None if long else diff,
        left_out="its diff is long: search_step with planner rules evaluates it" if long else None,
    )


TOOL = Tool(
    name="propose_moves",
    title="Propose moves",
    run=propose_moves,
    arguments=ProposeMovesArguments,
    result=ProposedMoves,
    read_only=True,
)
