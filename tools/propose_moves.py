"""The verb `propose_moves`: what could be tried from a variant, the likeliest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from ..runners.model import Record
from ..runners.wording import shortened
from ..search.moves import CANONICAL, FACTS
from ..search.planning.rules import Explanation
from ..search.stored.hot_regions import HotRegions
from .base import Arguments, Tool
from .parts.calls import call
from .parts.describing import resolve_variant, speedup_of
from .parts.ready_made import ReadyCandidate, explained, ready_candidate, without_evaluated

if TYPE_CHECKING:
    from ..analysis.prior.model import MovePrior, Reason
    from ..evaluation.evidence.evidence import Evidence
    from ..search.session.workbench import Workbench
    from ..store.records import KernelRecord, VariantRecord
    from .parts.earlier_searches import EarlierSearches

MAX_MOVES, MAX_BY_HAND, MAX_REASONS = 5, 4, 2
HOST_SKILL = "host-loops"
"""the page on all that is written by hand for a host: the others are of GPUs"""
MEANING_CHARS, REASON_CHARS, EVIDENCE_CHARS = 120, 70, 70


class ProposeMovesArguments(Arguments):
    """Where to start from, and how much to tell."""

    kernel_id: str
    variant_id: str = "incumbent"
    """a variant_id, incumbent or baseline"""
    limit: int = Field(default=2, ge=1, le=50)
    """candidates a move"""


class ProposedMove(Record):
    """A transformation that fits, with candidates that were not evaluated yet."""

    method: str
    why: str
    """what it is; then the evidence for and against it, with the factor of each"""
    prior: float
    """probability among all that fit, moves and by_hand; a rule of thumb, not measured"""
    candidates: tuple[ReadyCandidate, ...]
    more: int = 0
    """further candidates of this move; raise limit to see them"""
    tried: int = 0
    """candidates of this move that were evaluated before, left out here"""
    idiom: bool = False
    """candidates of it are whole algorithms, put in place of the one that was recognised"""


class ByHandMove(Record):
    """A method that no rule writes: you can."""

    method: str
    why: str
    """as in moves"""
    prior: float
    skill: str | None = None
    """the page that says how"""


class ProposedMoves(Record):
    """What could be tried, the likeliest first."""

    kernel_id: str
    variant_id: str
    speedup: float | None = None
    """of this variant over the baseline"""
    basis: str
    """what the priors rest on"""
    moves: tuple[ProposedMove, ...]
    also_ready: tuple[str, ...] = ()
    """less likely methods with ready-made candidates; raise limit to see them"""
    by_hand: tuple[ByHandMove, ...]
    """the likeliest methods that no rule writes"""
    also_by_hand: tuple[str, ...] = ()
    """less likely ones"""
    do_not_fit: dict[str, str]
    """method of this language -> why no rule writes it here"""
    neighbours: tuple[str, ...] = ()
    """what paid after this variant's method before, on any kernel, the most promising first"""
    history: tuple[str, ...] = ()
    """what searches of this kernel tried from this variant, and what failed from others"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def propose_moves(bench: Workbench, arguments: ProposeMovesArguments) -> ProposedMoves:
    """List what could be tried from a variant: moves by prior, with ready-made candidates.

    A candidate goes to compile_variant by its handle (`ready`, with this variant as base). Methods
    under by_hand need source written by you; their skill says how. Priors come from a kept profile
    (ncu_summary makes one), the compiler, the PTX, the measured time, and earlier searches: rules
    of thumb, so measure. What was evaluated before is left out. Builds and runs nothing; takes
    under 1 s.
    Example: {"kernel_id": "softmax-1a2b3c4d"}
    """
    from ..evaluation.evidence.evidence import evidence
    from .parts.earlier_searches import earlier_searches

    kernel = bench.evaluator.kernel(arguments.kernel_id)
    record = resolve_variant(bench, kernel, arguments.variant_id)
    variant_id = record.variant.variant_id
    found = [
        without_evaluated(bench, kernel, record, each)
        for each in explained(kernel, record)
        if kernel.spec.kernel.kernel_type in CANONICAL[each.method].languages
    ]
    known = evidence(bench, kernel, variant_id)
    before = earlier_searches(bench, kernel, record, known)
    priors, hot = _priors(found, known, before), HotRegions(bench, kernel)
    moves = [
        _move(hot, record, e, priors[e.method], before, arguments.limit)
        for e in found
        if e.candidates
    ]
    moves.sort(key=lambda each: -each.prior)
    most = max(MAX_MOVES, arguments.limit)
    by_hand = [_by_hand(kernel, e, priors[e.method], before) for e in found if e.by_hand]
    by_hand.sort(key=lambda each: -each.prior)
    return ProposedMoves(
        kernel_id=kernel.kernel_id,
        variant_id=variant_id,
        speedup=speedup_of(bench, variant_id),
        basis="; ".join(known.basis) or "rules of thumb alone",
        moves=tuple(moves[:most]),
        also_ready=tuple(each.method for each in moves[most:]),
        by_hand=tuple(by_hand[:MAX_BY_HAND]),
        also_by_hand=tuple(each.method for each in by_hand[MAX_BY_HAND:]),
        do_not_fit={
            e.method: shortened(e.reason or "", REASON_CHARS)
            for e in found
            if e.method not in priors
        },
        neighbours=before.neighbours,
        history=before.remembered,
        advice=_advice(bench, kernel, known),
        next=_next(bench, kernel, variant_id, moves),
    )


def _next(
    bench: Workbench, kernel: KernelRecord, variant_id: str, moves: Sequence[ProposedMove]
) -> tuple[str, ...]:
    kernel_id = kernel.kernel_id
    first = next((candidate.ready for move in moves for candidate in move.candidates), None)
    build = call("compile_variant", kernel_id=kernel_id, base=variant_id, ready=first)
    search = call("search_step", kernel_id=kernel_id, planner="rules")
    return (
        *((build,) if first is not None else ()),
        *((search,) if bench.gpus.runs(kernel.loaded) else ()),
    )


def _advice(bench: Workbench, kernel: KernelRecord, known: Evidence) -> str:
    if not bench.gpus.runs(kernel.loaded):
        return "compile_variant with a candidate"
    first = "compile_variant with a candidate, then time_variant; or search_step"
    gpu = kernel.spec.kernel.language.on_gpu
    return (
        f"{first}; ncu_summary first makes the priors surer" if gpu and not known.counted else first
    )


def _priors(
    found: Sequence[Explanation], known: Evidence, before: EarlierSearches
) -> dict[str, MovePrior]:
    """Of every method that fits. A move weighs as much as its likeliest candidate, times what was
    measured of its method."""
    from dataclasses import replace

    from ..analysis.prior.weighing import weigh

    bases = {
        e.method: max((c.prior for c in e.candidates), default=FACTS[e.method].base)
        for e in found
        if e.candidates or e.by_hand
    }
    fitting = [
        replace(FACTS[method], base=base * before.factor(method)) for method, base in bases.items()
    ]
    return {each.move: each for each in weigh(fitting, known.signals, known.levels)}


def _why(meaning: str, prior: MovePrior, before: EarlierSearches) -> str:
    told = [_reason(each, before) for each in prior.reasons[:MAX_REASONS]]
    if measured := before.of_method(prior.move):
        told.append(measured)
    return shortened(meaning, MEANING_CHARS) + (f" Evidence: {'; '.join(told)}" if told else "")


def _reason(reason: Reason, before: EarlierSearches) -> str:
    followed = before.of_rule(reason.signal)
    words = shortened(reason.evidence, EVIDENCE_CHARS) + (f"; {followed}" if followed else "")
    return f"{reason.describe()} ({words})"


def _by_hand(
    kernel: KernelRecord, found: Explanation, prior: MovePrior, before: EarlierSearches
) -> ByHandMove:
    from ..skills.catalogue import catalogue

    on_gpu = kernel.spec.kernel.language.on_gpu
    skill = CANONICAL[found.method].skill if on_gpu else HOST_SKILL
    return ByHandMove(
        method=found.method,
        why=_why(f"{found.meaning}.", prior, before),
        prior=round(prior.probability, 3),
        skill=skill if skill in {page.id for page in catalogue()} else None,
    )


def _move(
    hot: HotRegions,
    record: VariantRecord,
    found: Explanation,
    prior: MovePrior,
    before: EarlierSearches,
    limit: int,
) -> ProposedMove:
    new, factor = found.candidates, prior.factor * before.factor(found.method)
    return ProposedMove(
        method=found.method,
        why=_why(" ".join(found.why), prior, before),
        prior=round(prior.probability, 3),
        candidates=tuple(ready_candidate(hot, record, c, factor) for c in new[:limit]),
        more=max(0, len(new) - limit),
        tried=found.tried,
        idiom=found.idiom,
    )


TOOL = Tool(
    name="propose_moves",
    title="Propose moves",
    run=propose_moves,
    arguments=ProposeMovesArguments,
    result=ProposedMoves,
    search_hint="ideas, what to try next to speed up a kernel: vectorize, tile, unroll a loop; "
    "optimizations with candidates",
    read_only=True,
)
