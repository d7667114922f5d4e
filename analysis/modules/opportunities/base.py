"""What an opportunity is, and what finders look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ....runners.model import Record
from ....runners.modules.common.messages import Batches, ErrorClass, OpRow
from ..costs.cost import CostModel, Predicted
from .pages import SKILLS

MOST_PLACES = 6


class Opportunity(Record):
    """Something that could be done, and what that would gain."""

    kind: str
    what: str
    """what was found, in one sentence with its numbers"""
    how: str
    """what to do"""
    skill: str = ""
    """the page of `skills/` that says more; empty in reports that were written before"""
    where: tuple[str, ...] = ()
    """lines of the user's, or modules"""
    predicted_ms: float | None = None
    speedup: float | None = None
    """of the whole call, by Amdahl's law; None: no number can be told"""
    error_class: ErrorClass
    steps: tuple[str, ...] = ()
    """the rung that does it; empty: by hand"""
    consent: str = ""
    """`--allow` with this precision has it measured"""


@dataclass(frozen=True)
class Found:
    """What finders look at."""

    cost: CostModel
    batches: Batches | None = None

    @property
    def ops(self) -> tuple[OpRow, ...]:
        """Operators of one eager call."""
        return self.cost.trace.ops

    @property
    def on_gpu(self) -> bool:
        """Whether the call was on a GPU."""
        return self.cost.on_gpu

    def speedup(self, ms: float) -> float:
        """Of the whole call."""
        return self.cost.eager.ms / max(ms, 1e-9)


def dims(op: OpRow) -> tuple[tuple[int, ...], ...]:
    """Shapes of the tensors that an operator was given."""
    parts = op.shapes.split(", ") if op.shapes else []
    return tuple(tuple(int(size) for size in part.split("x")) for part in parts)


Finder = Callable[[Found], Iterable[Opportunity]]


def places(ops: Sequence[OpRow]) -> tuple[str, ...]:
    """Lines (else modules) of operators, those that take longest first."""
    us = dict[str, float]()
    for op in ops:
        name = op.line or op.module
        if name:
            us[name] = us.get(name, 0.0) + op.us
    return tuple(sorted(us, key=lambda name: -us[name])[:MOST_PLACES])


def of_rung(
    found: Found,
    predicted: Predicted | None,
    *,
    kind: str,
    what: str,
    how: str,
    error_class: ErrorClass,
    steps: tuple[str, ...],
    where: tuple[str, ...] = (),
    consent: str = "",
) -> Opportunity:
    """An opportunity with the prediction of the rung that takes it; without a number, where the
    model of cost says nothing of it."""
    return Opportunity(
        kind=kind,
        what=what,
        how=how,
        skill=SKILLS[kind],
        where=where,
        predicted_ms=None if predicted is None else predicted.ms,
        speedup=None if predicted is None else found.speedup(predicted.ms),
        error_class=error_class,
        steps=steps,
        consent=consent,
    )


def by_hand(
    found: Found,
    ms: float | None,
    *,
    kind: str,
    what: str,
    how: str,
    where: tuple[str, ...],
    skill: str = "",
) -> Opportunity:
    """An opportunity that a person takes; its values stay the same bits. `skill`: where the page
    is not that of the kind."""
    return Opportunity(
        kind=kind,
        what=what,
        how=how,
        skill=skill or SKILLS[kind],
        where=where,
        predicted_ms=ms,
        speedup=None if ms is None else found.speedup(ms),
        error_class="bit-equal",
    )
