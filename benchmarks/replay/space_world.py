"""An exhaustively measured space as a world: steps change one parameter to a measured value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.work import Evaluate
from kernelwright.search.planning.planner import Context, PlannerRun
from replay.graph_world import untried
from replay.world import Found, World

Value = int | float | str
Configuration = tuple[Value, ...]


class _Space:
    """Configurations by key, which is the place of each value among its parameter's values."""

    def __init__(self, names: Sequence[str], times: Mapping[Configuration, float | None]) -> None:
        self.names, self.times = tuple(names), times
        self.values = [sorted(set(column), key=_order) for column in zip(*times, strict=True)]
        self.at = {self.key(c): c for c in times}

    def key(self, configuration: Configuration) -> str:
        places = (v.index(x) for v, x in zip(self.values, configuration, strict=True))
        return ",".join(map(str, places))

    def reached(self, key: str, changes: Mapping[str, int]) -> str:
        """The key after parameters took other places."""
        places = key.split(",")
        for name, place in changes.items():
            places[self.names.index(name)] = str(place)
        return ",".join(places)

    def offers(self, key: str) -> list[Candidate]:
        """Every measured configuration that differs in one parameter, the nearest values first."""
        found = list[Candidate]()
        for name, now, values in zip(self.names, key.split(","), self.values, strict=True):
            for place, value in enumerate(values):
                if place != int(now) and self.reached(key, {name: place}) in self.at:
                    found.append(_candidate(name, place, value, abs(place - int(now))))
        return sorted(found, key=lambda c: -c.prior)


def space_world(
    names: Sequence[str],
    times: Mapping[Configuration, float | None],
    start: Configuration | None = None,
) -> World:
    """The world of a space: `times` by configuration in the order of `names`, None where one
    failed; configurations that it lacks are never proposed.

    `start`: the baseline, which must not have failed; None: the first that did not. Speedups are
    over its time. A candidate sets one parameter, to the place of its new value among all of that
    parameter's; its prior is one over how many places lie between. Raises ValueError.
    """
    space = _Space(names, times)
    first = next((c for c, t in times.items() if t is not None), None) if start is None else start
    baseline = None if first is None else times.get(first)
    if first is None or baseline is None:
        raise ValueError("a search starts from a configuration that was measured and did not fail")

    def planner(context: Context) -> PlannerRun:
        yield from ()
        return untried(space.offers(context.variant_id), context)

    def look_up(work: Evaluate) -> Found:
        key = space.reached(work.parent, work.candidate.parameters or {})
        time = times[space.at[key]]
        if time is None:
            return Found(Ending.build_failed, key)
        speedup = baseline / time
        return Found(_ending(speedup), key, speedup, (speedup, speedup))

    return World(space.key(first), planner, look_up)


def _candidate(name: str, place: int, value: Value, distance: int) -> Candidate:
    return Candidate(
        method=f"set {name}",
        detail=f"{name}={value}",
        parameters={name: place},
        prior=1 / distance,
    )


def _ending(speedup: float) -> Ending:
    if speedup == 1:
        return Ending.tie
    return Ending.faster if speedup > 1 else Ending.slower


def _order(value: Value) -> tuple[bool, float, str]:
    """Numbers by size, then words by spelling."""
    if isinstance(value, str):
        return (True, 0.0, value)
    return (False, float(value), "")
