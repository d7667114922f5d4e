"""Signals and moves in, probabilities out.

A move's weight is its base times `weight ** strength` of every row that joins a signal to it, so
log-odds add; probabilities are weights over their sum. What follows, and the tests hold it to:

- The order of signals does not matter, and a move that no signal names keeps its odds against all
  others of that kind.
- A stronger signal never lowers the odds of a move that it asks for against one that it does not
  name, nor the probability of all moves that it asks for together. Of two moves that it asks for,
  the one with the smaller weight may lose to the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..levels import Level, Where
from .model import LOW_CONFIDENCE, MoveFacts, MovePrior, Reason, Row, Signal, merged
from .table import ROWS

SATURATED_FROM = 0.9
"""of a roof: above, what does not take load off it cannot make the kernel much faster"""
SATURATED_WEIGHT = 0.25
SATURATED_BASIS = (
    "the bound of the roofline: at 90 % of a roof at most 1.1x is left for what keeps its load; "
    "the weight is a rule of thumb"
)


def weigh(
    moves: Sequence[MoveFacts],
    signals: Iterable[Signal],
    levels: Iterable[Level] = (),
    rows: Sequence[Row] = ROWS,
) -> tuple[MovePrior, ...]:
    """The prior of each move, the likeliest first; equal ones keep their order.

    `levels`: roofs of the run; those that are saturated push down the moves that relieve none of
    them. Without signals and saturated roofs the probabilities are those of the base weights.
    """
    strong = merged(signals)
    full = saturated(levels)
    reasons = [_reasons(move, strong, full, rows) for move in moves]
    factors = [math.prod(each.factor for each in found) for found in reasons]
    weights = [move.base * factor for move, factor in zip(moves, factors, strict=True)]
    total = sum(weights)
    found = [
        MovePrior(
            move=move.id,
            category=move.category,
            probability=weight / total,
            factor=factor,
            reasons=why,
        )
        for move, weight, factor, why in zip(moves, weights, factors, reasons, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: -each.probability))


def saturated(levels: Iterable[Level]) -> tuple[Level, ...]:
    """The roofs that are reached."""
    return tuple(each for each in levels if each.share >= SATURATED_FROM)


def _reasons(
    move: MoveFacts, signals: Sequence[Signal], full: Sequence[Level], rows: Sequence[Row]
) -> tuple[Reason, ...]:
    by_id = {each.id: each for each in signals}
    found = [
        Reason(
            signal=row.signal,
            source=by_id[row.signal].source,
            factor=row.weight ** by_id[row.signal].strength,
            evidence=by_id[row.signal].evidence,
            why=row.why,
            basis=row.basis,
        )
        for row in rows
        if row.move == move.id and row.signal in by_id
    ]
    roofs: set[Where] = {each.where for each in full}
    if full and not roofs & move.relieves:
        found.append(_pushed_down(full))
    return tuple(sorted(found, key=lambda each: -abs(math.log(each.factor))))


def _pushed_down(full: Sequence[Level]) -> Reason:
    sure = any(each.confidence == "normal" for each in full)
    names = ", ".join(f"{each.where} at {100 * each.share:.0f} %" for each in full)
    return Reason(
        signal="saturated",
        source="counters" if sure else "time",
        factor=SATURATED_WEIGHT ** (1.0 if sure else LOW_CONFIDENCE),
        evidence=names,
        why="it takes no load off what is saturated",
        basis=SATURATED_BASIS,
    )
