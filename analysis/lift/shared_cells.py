"""What lies in the shared memory of a block: who wrote each element, and which of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .expressions import Expr, Name, Number, Unreadable, call, names_in
from .lanes import AXES, Exchanged, Value, expression, fitted, identity, numbers
from .rewriting import substitute

Array = npt.NDArray[Any]
MAX_ELEMENTS = 1 << 16
Loops = tuple[tuple[str, int], ...]
"""index and count of the loops around, the outermost first"""


@dataclass(frozen=True)
class Written:
    """What a statement wrote: a value of each thread, in each iteration of the loops around it."""

    value: Value
    loops: Loops
    alive: Array


@dataclass
class Cells:
    """An array of a block, while its threads are followed."""

    written: list[Written] = field(default_factory=list[Written])
    by: Array = field(default_factory=lambda: np.full(0, -1))
    """for each element which of `written` was the last; -1: none"""
    at: dict[str, Array] = field(default_factory=dict[str, Array])
    """for each element the place of the writer: its thread, and iterations"""

    def forget(self) -> None:
        """Nothing is known any more."""
        self.written, self.by, self.at = [], np.full(0, -1), {}

    def store(
        self,
        index: Expr,
        value: Value,
        threads: Mapping[str, Array],
        alive: Array,
        loops: Loops,
        guard: Expr,
    ) -> None:
        """The threads that are alive, in all iterations, write. `guard`: what else must hold."""
        points, where = _points(threads, alive, loops)
        places = numbers(index, points)
        if places is None:
            raise Unreadable("shared memory is written at places that the data says")
        if not len(places):
            return
        if places.min() < 0 or places.max() >= MAX_ELEMENTS:
            raise Unreadable("a shared array of unknown size")
        if guard != Number(1, "bool"):
            value = self._guarded(places, value, guard, threads, alive, loops)
        if loops and isinstance(value, Exchanged):
            value = expression(value, alive, threads)
        self._grow(int(places.max()) + 1)
        self.written.append(Written(value, loops, alive))
        self.by[places] = len(self.written) - 1
        for name, each in {"thread": where, **points}.items():
            self.at.setdefault(name, np.zeros(len(self.by), dtype=np.int64))
            self.at[name][places] = each

    def _guarded(
        self,
        places: Array,
        value: Value,
        guard: Expr,
        threads: Mapping[str, Array],
        alive: Array,
        loops: Loops,
    ) -> Value:
        """With what lay there before where the guard does not hold; what was never written may be
        anything, so it is the value."""
        before = self.by[places[places < len(self.by)]]
        if not len(before) or (before < 0).any() or len(before) < len(places):
            return value
        points, _ = _points(threads, alive, loops)
        old = self._read(places, points, threads, alive, loops)
        new = expression(value, alive, threads)
        return call("select", guard, new, expression(old, alive, threads), dtype=new.dtype)

    def load(self, index: Expr, threads: Mapping[str, Array], alive: Array, loops: Loops) -> Value:
        """What the threads that are alive read, in each iteration. Raises Unreadable."""
        points, _ = _points(threads, alive, loops)
        places = numbers(index, points)
        if places is None:
            raise Unreadable("shared memory is read at places that the data says")
        if not len(places):
            raise Unreadable("shared memory that no thread reads")
        if places.min() < 0 or places.max() >= len(self.by) or (self.by[places] < 0).any():
            raise Unreadable("shared memory that is read before it is written")
        return self._read(places, points, threads, alive, loops)

    def _read(
        self,
        places: Array,
        points: Mapping[str, Array],
        threads: Mapping[str, Array],
        alive: Array,
        loops: Loops,
    ) -> Value:
        which = np.unique(self.by[places])
        if not loops:
            found = self._exchanged(places, which, alive)
            if found is not None:
                return found
        parts = list[tuple[Array, Expr]]()
        for each in which:
            mine = self.by[places] == each
            here = {name: values[mine] for name, values in points.items()}
            parts.append((mine, self._expression(int(each), places[mine], here, threads)))
        return _joined(parts, points)

    def _exchanged(self, places: Array, which: Array, alive: Array) -> Exchanged | None:
        """Values of other threads, where all are of one kind."""
        count = len(alive)
        chosen = [self.written[int(n)] for n in which.tolist()]
        if any(each.loops for each in chosen):
            return None
        made = [identity(each.value, count) for each in chosen]
        kinds = {each.kind for each in made} - {""}
        if len(kinds) > 1 or any(each.of != made[0].of for each in made):
            return None
        rows = np.zeros((count, count), dtype=np.int32)
        writer = self.at["thread"][places]
        mine = self.by[places]
        here = np.flatnonzero(alive)
        for n, each in zip(which, made, strict=True):
            rows[here[mine == n]] = each.rows[writer[mine == n]]
        return Exchanged(next(iter(kinds), ""), made[0].of, rows)

    def _expression(
        self, which: int, places: Array, points: Mapping[str, Array], threads: Mapping[str, Array]
    ) -> Expr:
        """One written value where it is read at these points."""
        written = self.written[which]
        value = expression(written.value, written.alive, threads)
        used = names_in(value)
        known = dict[str, Expr]()
        for name in (*AXES, *(name for name, _ in written.loops)):
            if name in used:
                found = fitted(self.at[name][places], points)
                if found is None:
                    raise Unreadable("shared memory that is read in an order without a rule")
                known[name] = found
        return substitute(value, known)

    def _grow(self, size: int) -> None:
        more = size - len(self.by)
        if more > 0:
            self.by = np.concatenate([self.by, np.full(more, -1)])
            self.at = {n: np.concatenate([e, np.zeros(more, int)]) for n, e in self.at.items()}


def _joined(parts: Sequence[tuple[Array, Expr]], points: Mapping[str, Array]) -> Expr:
    """One expression of those that hold at parts of the points: the greatest part's everywhere
    that it says the same."""
    ordered = sorted(parts, key=lambda each: -int(each[0].sum()))
    found = ordered[0][1]
    for mine, other in ordered[1:]:
        if _same(found, other, mine, points):
            continue
        condition = _where(mine, points)
        if condition is None or len(parts) > 4:
            raise Unreadable("shared memory that holds values of several kinds")
        found = call("select", condition, other, found, dtype=other.dtype)
    return found


def _same(one: Expr, other: Expr, mine: Array, points: Mapping[str, Array]) -> bool:
    """Whether two expressions are one at each of a few points."""
    chosen = np.flatnonzero(mine)
    if len(chosen) > 64:
        return False
    for n in chosen:
        known: dict[str, Expr] = {name: Number(int(each[n])) for name, each in points.items()}
        if substitute(one, known) != substitute(other, known):
            return False
    return True


def _where(mine: Array, points: Mapping[str, Array]) -> Expr | None:
    """A comparison of one coordinate that holds at these points alone."""
    for name, each in points.items():
        inside, outside = each[mine], each[~mine]
        if inside.max() < outside.min():
            return call("lt", Name(name), Number(int(inside.max()) + 1), dtype="bool")
        if inside.min() > outside.max():
            return call("ge", Name(name), Number(int(inside.min())), dtype="bool")
    return None


def _points(
    threads: Mapping[str, Array], alive: Array, loops: Loops
) -> tuple[dict[str, Array], Array]:
    """Coordinates at every thread that is alive in every iteration, and the threads' numbers."""
    here = np.flatnonzero(alive)
    grids = np.meshgrid(*(np.arange(n) for _, n in loops), here, indexing="ij")
    *turns, thread = (each.ravel() for each in grids)
    found = {axis: each[thread] for axis, each in threads.items()}
    found |= {name: each for (name, _), each in zip(loops, turns, strict=True)}
    return found, thread
