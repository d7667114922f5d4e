"""The planner without a model: what the moves propose, the likeliest first."""

from __future__ import annotations

from ..runners.model import Candidate, Record, content_hash
from .moves import CANONICAL, GPU_METHODS, MOVES, Move, NotApplicable
from .moves.base import State
from .planner import Context, PlannerRun

GPU = ("triton", "cuda")


class Explanation(Record):
    """What one method of the catalogue has to offer in a state: candidates, or why none."""

    method: str
    """canonical id"""
    meaning: str
    category: str | None = None
    """what the move works on; None: no move writes this method"""
    candidates: tuple[Candidate, ...] = ()
    """ready-made, the highest prior first"""
    reason: str | None = None
    """why there are no candidates"""
    tried: int = 0
    """how many candidates of this method were proposed from the node already"""


def rules_planner(context: Context) -> PlannerRun:
    """The candidates of all moves that fit, best prior first, at most `context.wanted`.

    Priors are those of the moves, times the weights of the context.

    Asks nobody. Changes that were proposed from this node before are left out; none left
    means that the rules have nothing more to try here.
    """
    yield from ()
    new = [c for move in MOVES for c in _untried(move, context)]
    return tuple(sorted(new, key=lambda c: -c.prior)[: context.wanted])


def explain(context: Context) -> tuple[Explanation, ...]:
    """Every method of the catalogue: the moves first, then those that nobody writes by rule."""
    moves = {move.id: move for move in MOVES}
    by_hand = [method for method in CANONICAL if method not in moves]
    return tuple(
        [_of_move(move, context) for move in MOVES]
        + [_by_hand(method, context) for method in by_hand]
    )


def _of_move(move: Move, context: Context) -> Explanation:
    proposals = move.propose(context.state)
    candidates = _untried(move, context)
    reason = None
    if isinstance(proposals, NotApplicable):
        reason = proposals.reason
    elif not candidates:
        reason = f"all {len(proposals)} candidates of this move were tried from this node"
    return Explanation(
        method=move.id,
        meaning=move.why,
        category=move.category,
        candidates=candidates,
        reason=reason,
        tried=_count(move.id, context),
    )


def _by_hand(method: str, context: Context) -> Explanation:
    kind = context.state.kernel_type
    if kind not in GPU and method in GPU_METHODS:
        reason = f"for {' and '.join(GPU)}, not {kind}"
    else:
        reason = "no rule writes it: send a candidate with this method and its source or diff"
    return Explanation(
        method=method, meaning=CANONICAL[method], reason=reason, tried=_count(method, context)
    )


def _untried(move: Move, context: Context) -> tuple[Candidate, ...]:
    proposals = move.propose(context.state)
    if isinstance(proposals, NotApplicable):
        return ()
    tried = {_change(t.candidate, context.state) for t in context.history}
    new = (c for c in proposals if _change(c, context.state) not in tried)
    weight = context.weights.get(move.id, 1.0)
    return tuple(c.model_copy(update={"prior": c.prior * weight}) for c in new)


def _change(candidate: Candidate, state: State) -> str:
    """What a candidate changes, whatever it is called; values that stay are no change."""
    changed = candidate.model_dump(include={"source", "diff", "plan", "options"})
    values = candidate.parameters or {}
    now = state.assignment
    changed["parameters"] = {n: v for n, v in values.items() if now.get(n) != v}
    return content_hash(changed)


def _count(method: str, context: Context) -> int:
    return sum(t.method == method for t in context.history)
