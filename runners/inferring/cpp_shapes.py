"""The shape of an array of a host function: from how far its indices reach, and in which strides.

The number of elements is certain where a shape is given: the largest index plus 1 is in it. How
it parts into rows follows from the strides, and only where each row holds all that is indexed in
it; else the shape is the number alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from .cpp_loops import Range
from .polynomials import Polynomial, number

_ONE = number(1)
NOT_PLAIN = "it is not indexed by sizes, constants and variables of plain loops alone"


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one access goes."""

    count: Polynomial
    """the largest index plus 1"""
    sizes: tuple[Polynomial, ...]
    """of an array that holds so many elements, from the outermost"""
    guarded: bool = False
    """a condition may keep it from going so far"""

    @property
    def capacity(self) -> Polynomial:
        """Elements of an array of these sizes."""
        return prod(self.sizes, start=_ONE)

    def holds(self, other: Reach) -> bool:
        """Whether an array of these sizes has room for the other."""
        return (self.capacity - other.count).never_negative()


def shape_of(reached: Sequence[Reach]) -> tuple[Polynomial, ...] | str:
    """Sizes that hold every access, or why there are none to be told."""
    sure = [r for r in reached if not r.guarded]
    fitting = [r for r in sure if all(r.holds(other) for other in reached)]
    if not fitting:
        shown = dict.fromkeys(f"`{r.capacity.written()}`" for r in reached)
        if all(any(r.holds(o) for r in sure) for o in reached if not o.guarded) and not sure:
            return f"it is indexed up to {', '.join(shown)} under a condition"
        why = ", some under a condition" if len(sure) < len(reached) else ""
        return f"it is indexed up to {' and '.join(shown)}{why}, and no one is surely the largest"
    tightest = [
        r for r in fitting if all((o.capacity - r.capacity).never_negative() for o in fitting)
    ]
    chosen = tightest or fitting
    rank = max(len(r.sizes) for r in chosen)
    shapes = {r.sizes for r in chosen if len(r.sizes) == rank}
    return next(iter(shapes)) if len(shapes) == 1 else (chosen[0].capacity,)


def reach_of(index: Polynomial, ranges: Mapping[str, Range], *, guarded: bool) -> Reach | None:
    """How far an index goes; None: not understood."""
    loops = sorted(index.names & ranges.keys())
    if any(ranges[name].steps for name in loops):
        return None
    last, first = extreme(index, ranges, largest=True), extreme(index, ranges, largest=False)
    if last is None:
        return None
    count = last + _ONE
    beyond = not (number(0) - index.put(dict.fromkeys(loops, number(0)))).never_negative()
    strides = _strides(index, loops)
    sizes = _parted(count, first, strides) if _rows_hold(index, ranges, strides) else None
    flat = count if first is None else _bordered(count, first, _ONE) or count
    return Reach(count, sizes or (flat,), guarded and beyond)


def extreme(index: Polynomial, ranges: Mapping[str, Range], *, largest: bool) -> Polynomial | None:
    """The largest or smallest value over all loops, in sizes alone; None: not understood."""
    while names := index.names & ranges.keys():
        name = max(names, key=lambda n: n.rpartition("@")[2])  # inner loops begin later
        factor = index.factor_of(name)
        if factor is None or factor.names & ranges.keys():
            return None
        if factor.never_negative():
            end = ranges[name].last if largest else ranges[name].first
        elif (number(0) - factor).never_negative():
            end = ranges[name].first if largest else ranges[name].last
        else:
            return None
        if end is None:
            return None
        index = index.put({name: end})
    return index


def _strides(index: Polynomial, loops: Iterable[str]) -> tuple[Polynomial, ...]:
    """What the loops' variables are multiplied by, each a multiple of the next, to 1.

    Empty where they are not so.
    """
    factors = {index.factor_of(name) for name in loops} | {_ONE}
    found = [f for f in factors if f is not None and (f - _ONE).never_negative()]
    if len(found) < len(factors):
        return ()
    found.sort(key=lambda f: f.put(dict.fromkeys(f.names, number(1 << 20))).constant or 0)
    found.reverse()
    pairs = itertools.pairwise(found)
    return tuple(found) if all(not a.divided(b)[1].terms for a, b in pairs) else ()


def _rows_hold(
    index: Polynomial, ranges: Mapping[str, Range], strides: Sequence[Polynomial]
) -> bool:
    """Whether what is indexed within each stride surely stays in it."""
    for at, stride in enumerate(strides[:-1]):
        inner = set(strides[at + 1 :])
        part = Polynomial()
        for name in index.names & ranges.keys():
            factor = index.factor_of(name)
            if factor in inner:
                part += factor * Polynomial((((name,), 1),))
        last, first = (extreme(part, ranges, largest=end) for end in (True, False))
        if last is None or first is None or not (stride - (last - first) - _ONE).never_negative():
            return False
    return True


def _parted(
    count: Polynomial, first: Polynomial | None, strides: Sequence[Polynomial]
) -> tuple[Polynomial, ...] | None:
    """So many elements as rows of the strides; None: that is not certain."""
    if not strides:
        return None
    row = strides[0]
    rows = None if first is None else _bordered(count, first, row)
    if rows is None:
        rows, rest = count.divided(row)
        if not (number(0) - rest).never_negative():
            if not (row - rest).never_negative():
                return None
            rows += _ONE
    inner = (a.divided(b)[0] for a, b in itertools.pairwise(strides))
    return (rows, *inner)


def _bordered(count: Polynomial, first: Polynomial, row: Polynomial) -> Polynomial | None:
    """Rows with a border behind as wide as the one in front, where these are one size.

    A loop from 1 to n - 1 leaves out the first and the last of n elements.
    """
    rows, rest = (count + first).divided(row)
    if not first.terms or not first.never_negative() or rest.terms or len(rows.terms) != 1:
        return None
    exact = not count.divided(row)[1].terms and len(count.divided(row)[0].terms) == 1
    (product, factor), *_ = rows.terms
    return rows if len(product) == 1 and factor == 1 and not exact else None
