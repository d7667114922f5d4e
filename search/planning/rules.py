"""The planner without a model: what the moves propose, the likeliest first."""

from __future__ import annotations

from collections.abc import Sequence

from ...runners.model import Candidate, Record
from ..memory import change_key
from ..moves import IDIOMS, METHODS, MOVES, Method, Move, NotApplicable
from ..moves.shared.base import State
from ..regraph.ways import way_of
from .planner import Context, PlannerRun

DOUBT = 0.5
"""factor on the prior of a change that never once worked in other states of the kernel; a rule of
thumb"""


class Explanation(Record):
    """What one method of the catalogue has to offer in a state: candidates, or why none."""

    method: str
    """canonical id"""
    meaning: str
    candidates: tuple[Candidate, ...] = ()
    """ready-made, the highest prior first"""
    why: tuple[str, ...] = ()
    """of the moves that wrote them: what each does, and when it pays"""
    reason: str | None = None
    """why there are no candidates"""
    by_hand: bool = False
    """nothing is ready-made, but somebody can write it"""
    tried: int = 0
    """how many candidates of this method were proposed from the node already"""
    idiom: bool = False
    """candidates of it are whole algorithms, in place of the one that was recognised"""


def rules_planner(context: Context) -> PlannerRun:
    """The candidates of all moves that fit, best prior first, at most `context.wanted`.

    Priors are those of the moves, times the weights of the context; a method of weight 0 is left
    out. What never worked in other states of the kernel has `DOUBT` of its prior. Which are the
    best falls with the chance of known machine code as well, and what has none of new code is left
    out; their priors stay, as the engine weighs that chance anew whenever it chooses.

    Asks nobody. Changes that were proposed from this node before, or failed from the same state in
    an earlier search, are left out; none left means that the rules have nothing more to try here.
    """
    yield from ()
    new = [c for move in MOVES for c in _untried(move, context)]
    hoped = [(c.prior * chance, c) for c in new if (chance := context.new_code(c)) > 0]
    return tuple(c for _, c in sorted(hoped, key=lambda pair: -pair[0])[: context.wanted])


def explain(context: Context) -> tuple[Explanation, ...]:
    """Every method of the catalogue, in its order."""
    return tuple(_of_method(method, context) for method in METHODS)


def _of_method(method: Method, context: Context) -> Explanation:
    kind, tried = context.state.kernel_type, _count(method.id, context)
    if kind not in method.languages:
        reason = f"for {' and '.join(method.languages)}, not {kind}"
        return Explanation(method=method.id, meaning=method.meaning, reason=reason, tried=tried)
    moves = [move for move in MOVES if move.method == method.id and kind in move.languages]
    written = {move: _untried(move, context) for move in moves}
    candidates = sorted((c for new in written.values() for c in new), key=lambda c: -c.prior)
    return Explanation(
        method=method.id,
        meaning=method.meaning,
        candidates=tuple(candidates),
        why=tuple(move.why for move, new in written.items() if new),
        reason=None if candidates else _why_none(method, moves, context.state),
        by_hand=method.by_hand and not candidates,
        tried=tried,
        idiom=any(new and move.id in IDIOMS for move, new in written.items()),
    )


def _why_none(method: Method, moves: Sequence[Move], state: State) -> str:
    """What each move says; where a source can be written by hand, how."""
    answers = [move.propose(state) for move in moves]
    told = "; ".join(
        a.reason
        if isinstance(a, NotApplicable)
        else f"all {len(a)} candidates of this move were tried from this node"
        for a in answers
    )
    if not method.by_hand:
        return told
    here = f"no rule writes it here ({told})" if told else "no rule writes it"
    return f"{here}: send a candidate with this method and its source or diff"


def _untried(move: Move, context: Context) -> tuple[Candidate, ...]:
    proposals = move.propose(context.state)
    if isinstance(proposals, NotApplicable):
        return ()
    weight = context.weights.get(move.method, 1.0)
    if weight == 0:
        return ()
    changes = {change_key(t.candidate, context.state) for t in context.history}
    gone, doubted = changes | context.memory.closed, context.memory.doubted
    new = ((c, key) for c in proposals if (key := change_key(c, context.state)) not in gone)
    return tuple(
        c.model_copy(update={"prior": c.prior * weight * _way(c, context) * _doubt(key, doubted)})
        for c, key in new
    )


def _way(candidate: Candidate, context: Context) -> float:
    return context.ways(candidate.method, way_of(candidate.detail))


def _doubt(key: str, doubted: frozenset[str]) -> float:
    return DOUBT if key in doubted else 1.0


def _count(method: str, context: Context) -> int:
    return sum(t.method == method for t in context.history)
