"""Declared parameters: one value changes, or two where constraints tie them together."""

from __future__ import annotations

from collections.abc import Iterator

from ....runners.languages import KERNEL_TYPES
from ....runners.model import Candidate, ordered
from ....runners.specs.expressions import names_in
from ....runners.specs.spec import KernelSpec
from ..shared.base import Move, NotApplicable, Proposals, State, broken_constraints
from ..shared.live_parameters import live_parameters

# A knob's k-th choice weighs NEAREST * DECAY**k whatever the knob: by weight, every knob has had
# its nearest values tried before any knob has had all of its own.
NEAREST = 0.2
DECAY = 0.7
PAIR_WEIGHT = 0.5


def _write(state: State) -> Proposals:
    spec, now = state.spec, state.assignment
    if not spec.parameters:
        return NotApplicable("the spec declares no parameters")
    live = live_parameters(state)
    if not live:
        return NotApplicable("neither source nor launch has a use for a parameter of the spec")
    found: dict[tuple[tuple[str, int], ...], Candidate] = {}
    for name in filter(live.__contains__, spec.parameters):
        for rank, value in enumerate(nearest(spec.parameters[name].values, now[name])):
            changes = _completed(spec, now, name, value)
            if changes is not None:
                weight = NEAREST * DECAY**rank * (PAIR_WEIGHT if len(changes) > 1 else 1.0)
                found.setdefault(tuple(sorted(changes.items())), _candidate(now, changes, weight))
    if not found:
        return NotApplicable("no other value of any parameter meets the spec's constraints")
    return tuple(sorted(found.values(), key=lambda c: -c.prior))


def nearest(values: tuple[int, ...], now: int) -> list[int]:
    """The other values, by how many steps of the sorted list lie between; up before down.

    A current value that is not listed stands at its place between its neighbours.
    """
    above = sorted(v for v in values if v > now)
    below = sorted((v for v in values if v < now), reverse=True)
    steps = [(i, 0, v) for i, v in enumerate(above)] + [(i, 1, v) for i, v in enumerate(below)]
    return [value for _, _, value in sorted(steps)]


def _completed(
    spec: KernelSpec, now: dict[str, int], name: str, value: int
) -> dict[str, int] | None:
    """The change alone if it is legal, else with the nearest legal change of one partner."""
    changed = now | {name: value}
    broken = broken_constraints(spec, changed)
    if not broken:
        return {name: value}
    for partner, other in _partners(spec, now, name, broken):
        if not broken_constraints(spec, changed | {partner: other}):
            return {name: value, partner: other}
    return None


def _partners(
    spec: KernelSpec, now: dict[str, int], name: str, broken: tuple[str, ...]
) -> Iterator[tuple[str, int]]:
    """Other values of the parameters named in the broken constraints, nearest first."""
    tied = {n for constraint in broken for n in names_in(constraint)} - {name}
    choices = [
        (step, partner, value)
        for partner in spec.parameters
        if partner in tied
        for step, value in enumerate(nearest(spec.parameters[partner].values, now[partner]))
    ]
    yield from ((partner, value) for _, partner, value in sorted(choices, key=lambda c: c[0]))


def _candidate(now: dict[str, int], changes: dict[str, int], weight: float) -> Candidate:
    return Candidate(
        method=MOVE.method,
        detail=f"{ordered({n: now[n] for n in changes})} -> {ordered(changes)}",
        parameters=changes,
        prior=weight,
    )


MOVE = Move(
    id="tune_parameters",
    method="tune_parameters",
    languages=KERNEL_TYPES,
    why="Tries other values of the parameters that the spec declares, the nearest first. Pays "
    "whenever sizes of tiles, unrolling or order were chosen for another machine or shape.",
    write=_write,
)
