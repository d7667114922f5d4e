"""What a reference that was read from a kernel begins with: its text is copied before the function
that is written (`writing.py`), and it runs in the process of references, where nothing of ours is.

Every index has an axis of its own, so that a value has the axes that it hangs on and no others.
What is exact is computed in float64 throughout, with sums taken in pairs. What is not is computed
in float32, and in float64 where the kernel has it, with sums taken term by term, as a plain loop
takes them: what rounding alone explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

RANK = 8
PIECE_ON_HOST, PIECE_ELSEWHERE = 1 << 20, 1 << 24
"""elements that are computed at once"""
MOST_ON_HOST, MOST_ELSEWHERE = 1 << 26, 1 << 32
"""elements that a call may compute: beyond, it takes longer than a check is worth"""
IN_TURN = 1 << 20
"""terms that a thread of a GPU adds one after the other, where a running sum is none; more by the
library's"""


class Floats:
    """In which type floats are computed, with which library, and how much was computed."""

    def __init__(self, like: Any, exact: bool) -> None:
        self.like, self.exact = like, exact
        self.host = isinstance(like, np.ndarray)
        self.piece = PIECE_ON_HOST if self.host else PIECE_ELSEWHERE
        self.left = MOST_ON_HOST if self.host else MOST_ELSEWHERE

    def real(self, values: Any, short: str = "") -> Any:
        """As float32, rounded to `short` before, or as float64 where all is exact."""
        array = np.asarray(values, like=self.like)
        if self.exact:
            return array.astype("float64", copy=False)
        return (array.astype(short) if short else array).astype("float32", copy=False)

    def double(self, values: Any) -> Any:
        """As float64."""
        return np.asarray(values, like=self.like).astype("float64", copy=False)

    def whole(self, values: Any) -> Any:
        """As an integer, towards zero."""
        return np.asarray(values, like=self.like).astype("int64")

    def counted(self, values: Any) -> Any:
        """The values; raises OverflowError when too much was computed."""
        self.left -= int(np.size(values))
        if self.left < 0:
            raise OverflowError("its sums are too large to be computed again for a check")
        return values

    def index(self, count: int, axis: int, begin: int = 0) -> Any:
        """The numbers from `begin` below `count`, along an axis."""
        shape = [1] * RANK
        shape[axis] = -1
        return np.arange(begin, max(begin, count), like=self.like).reshape(shape)

    def pieces(self, count: int, axis: int, others: int) -> Iterator[Any]:
        """An index in pieces, each with about a piece's places together with so many others."""
        step = max(1, self.piece // max(1, others))
        for begin in range(0, count, step):
            yield self.index(min(count, begin + step), axis, begin)

    def folded(
        self, kind: str, term: Callable[[Any], Any], count: int, axis: int, first: Any
    ) -> Any:
        """`first` joined with the terms of an index below `count`."""
        count, found = int(count), first
        if count <= 0:
            return found
        places = max(1, int(np.size(term(self.index(1, axis)))))
        for k in self.pieces(count, axis, places):
            part = self.counted(term(k))
            shape = np.broadcast_shapes(np.shape(part), np.shape(k))
            part = np.broadcast_to(np.asarray(part, like=self.like), shape)
            found = self._joined(kind, found, part, axis)
        return found

    def _joined(self, kind: str, before: Any, part: Any, axis: int) -> Any:
        """What was found before, joined with the terms along an axis."""
        join = {"sum": np.add, "product": np.multiply, "max": np.fmax, "min": np.fmin}[kind]
        if self.exact or kind in ("max", "min") or part.dtype.kind in "iu":
            of_all = {"sum": np.sum, "product": np.prod, "max": np.max, "min": np.min}[kind]
            return join(before, of_all(part, axis=axis, keepdims=True))

        def some(begin: int, end: int | None) -> Any:
            return part[(slice(None),) * axis + (slice(begin, end),)]

        found, count = join(before, some(0, 1)), part.shape[axis]
        if self.host or count > IN_TURN:
            running = np.concatenate([found, some(1, None)], axis=axis)
            part = (np.cumsum if kind == "sum" else np.cumprod)(running, axis=axis)
            return some(count - 1, None)
        return _in_turn(kind, found, some(1, None), axis)


def _in_turn(kind: str, first: Any, part: Any, axis: int) -> Any:
    """Of cupy: `first` joined with the terms along an axis one by one, by a thread a place."""
    cupy = import_module("cupy")
    terms = cupy.ascontiguousarray(cupy.moveaxis(part, axis, 0))
    shape = (*part.shape[:axis], 1, *part.shape[axis + 1 :])
    found = cupy.array(cupy.broadcast_to(first, shape), dtype=part.dtype, order="C")
    if found.size:
        _joining("+" if kind == "sum" else "*")(terms, len(terms), found.size, found)
    return found


@cache
def _joining(operator: str) -> Any:
    """A kernel; its terms lie one after the other, each with all places."""
    return import_module("cupy").ElementwiseKernel(
        "raw T terms, int64 count, int64 places",
        "T found",
        f"for (long long k = 0; k < count; ++k) found = found {operator} terms[k * places + i]",
        "joined_in_turn",
    )


def at(array: Any, index: Any) -> Any:
    """Elements of a flat array; those beyond it are read by no place that counts."""
    return array[np.clip(index, 0, max(array.size - 1, 0))]


def put(array: Any, index: Any, values: Any, where: Any = None) -> None:
    """Store values at places of a flat array, all or those where a condition holds."""
    if np.ndim(index) == 0:  # one place; what was folded for it has axes of length one
        index = np.asarray(index, like=array).reshape((1,) * RANK)
    if where is None:
        array[index] = np.broadcast_to(np.asarray(values, like=array), np.shape(index))
        return
    shape = np.broadcast_shapes(np.shape(index), np.shape(values), np.shape(where))
    taken = np.broadcast_to(where, shape)
    array[np.broadcast_to(index, shape)[taken]] = np.broadcast_to(values, shape)[taken]


def quotient(left: Any, right: Any) -> Any:
    """Of integers, towards zero; by zero, where no place counts, zero."""
    by = np.where(right == 0, 1, right)
    return np.abs(left) // np.abs(by) * np.where((left < 0) != (by < 0), -1, 1)


def rest(left: Any, right: Any) -> Any:
    """What `quotient` leaves."""
    return left - quotient(left, right) * right


def cdiv(left: int, right: int) -> int:
    """Rounded up, as specs have it."""
    return -(-left // right)
