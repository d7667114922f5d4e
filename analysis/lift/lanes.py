"""Values of all threads of a block at once: which other threads' values each is made of.

A value that threads exchange is kept as what one thread had before the exchange, and for every
thread the threads whose values are combined. Trees, shuffles and two-level reductions are then all
the same: a matrix that says who counts. What a matrix means is an expression again where its rows
are even: `sum(j < 256: ...)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from .expressions import Call, Expr, Name, Number, Sum, Unreadable
from .fold_laws import OPERATIONS, merged, plain_fold
from .operations import operate
from .rewriting import remade, substitute
from .sums import product, total

Array = npt.NDArray[Any]
AXES = ("tid.x", "tid.y", "tid.z")
_NEUTRAL = {"sum": 0.0, "product": 1.0, "max": -np.inf, "min": np.inf}
KINDS = {operation: kind for kind, operation in OPERATIONS.items()}


@dataclass(frozen=True)
class Exchanged:
    """A value at every thread: `kind` over the values of `of` at the threads that a row counts."""

    kind: str
    """sum, product, max, min; "": of one thread each"""
    of: Expr
    rows: Array
    """for each thread how often each other's value counts; shape (threads, threads)"""


Value = Expr | Exchanged


def threads_of(shape: Sequence[int]) -> dict[str, Array]:
    """The coordinates of a block's threads, x the fastest."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(shape)), indexing="ij")
    return {axis: each.ravel() for axis, each in zip(AXES, (x, y, z), strict=True)}


def numbers(expr: Expr, points: Mapping[str, Array]) -> Array | None:
    """The values of an expression of integers at every point; None where it hangs on more."""
    size = next(iter(points.values())).shape

    def value(here: Expr) -> Array | None:
        match here:
            case Number(number, "int" | "bool"):
                return np.full(size, int(number))
            case Name(name):
                return points.get(name)
            case Sum(terms):
                found = np.zeros(size, dtype=np.int64)
                for factors, number in terms:
                    made = np.full(size, number, dtype=np.int64)
                    for factor in factors:
                        each = value(factor)
                        if each is None:
                            return None
                        made = made * each
                    found = found + made
                return found
            case Call(op, args, "int" | "bool" as dtype) if op[:4] not in ("shfl", "bits"):
                read = [value(each) for each in args]
                if any(each is None for each in read):
                    return None
                if op == "select":
                    return np.where(read[0].astype(bool), read[1], read[2])  # type: ignore[union-attr]
                return operate(op, [each for each in read if each is not None], dtype)
            case _:
                return None

    return value(expr)


def identity(value: Value, threads: int) -> Exchanged:
    """A value that was not exchanged as one that was, with itself."""
    if isinstance(value, Exchanged):
        return value
    return Exchanged("", value, np.eye(threads, dtype=np.int32))


def combined(op: str, left: Value, right: Value, threads: int) -> Exchanged | None:
    """Two values of one kind joined at every thread; None where they have nothing in common."""
    kind = KINDS.get(op)
    if kind is None or not (isinstance(left, Exchanged) or isinstance(right, Exchanged)):
        return None
    ours = next(each.of for each in (left, right) if isinstance(each, Exchanged))
    pair = [identity(each, threads) for each in (left, right)]
    if any(each.kind not in ("", kind) or each.of != ours for each in pair):
        return None
    rows = pair[0].rows + pair[1].rows
    return Exchanged(kind, ours, np.minimum(rows, 1) if kind in ("max", "min") else rows)


def mixed(holds: Array, yes: Value, no: Value, threads: int) -> Exchanged | None:
    """`yes` where a condition of threads holds, `no` elsewhere; a constant that changes nothing is
    a value of no thread."""
    kinds = {each.kind for each in (yes, no) if isinstance(each, Exchanged)} - {""}
    if len(kinds) > 1:
        return None
    kind = next(iter(kinds), "")
    of = next((each.of for each in (yes, no) if isinstance(each, Exchanged)), None)
    rows = list[Array]()
    for each in (yes, no):
        if isinstance(each, Number):
            guessed = kind or _kind_of_neutral(each)
            if guessed is None or _kind_of_neutral(each) != guessed:
                return None
            kind = guessed
            rows.append(np.zeros((threads, threads), dtype=np.int32))
            continue
        made = identity(each, threads)
        if made.of != of:
            return None
        rows.append(made.rows)
    assert of is not None
    return Exchanged(kind, of, np.where(holds[:, None], *rows))


def _kind_of_neutral(number: Number) -> str | None:
    """The combiner that a constant leaves alone; a very small number begins a maximum."""
    if number.value == 0:
        return "sum"
    if number.value == 1:
        return "product"
    limit = 2**30 if number.dtype == "int" else 1e4 if number.dtype == "f16" else 1e9
    return "max" if number.value <= -limit else "min" if number.value >= limit else None


def moved(value: Value, source: Array, threads: int) -> Exchanged:
    """The value of thread `source[t]` at every thread t."""
    made = identity(value, threads)
    return Exchanged(made.kind, made.of, made.rows[source])


def expression(value: Value, alive: Array, points: Mapping[str, Array]) -> Expr:
    """The value as an expression that holds at the threads that are alive; the same one for the
    same value. Raises Unreadable."""
    if not isinstance(value, Exchanged):
        return value
    rows = value.rows[alive]
    here = {axis: each[alive] for axis, each in points.items()}
    if not len(rows):
        return value.of
    if int(rows.max(initial=0)) > 1:
        raise Unreadable("a value of a thread that is combined more than once")
    if not rows.any():
        return _neutral(value)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    shapes = [_progressions(row, points) for row in kinds]
    which = which.ravel()
    known, folds = dict[str, Expr](), list[tuple[str, Expr]]()
    for n, axis in enumerate(AXES):
        starts, steps, counts = (np.array([each[n][m] for each in shapes])[which] for m in range(3))
        step = _one(steps[counts > 1])
        start, many = fitted(starts, here), fitted(counts, here)
        if start is None or many is None or step is None:
            raise Unreadable("threads whose values are combined unevenly")
        if many == Number(1):
            known[axis] = start
            continue
        index = f"j{crc32(repr((value.kind, value.of, n)).encode() + kinds.tobytes())}"
        folds.append((index, many))
        known[axis] = total((start, product(Number(step), Name(index))))
    term = substitute(value.of, known)
    for index, many in folds:
        term = _folded(value.kind, index, many, term)
    return term


def _neutral(value: Exchanged) -> Number:
    dtype = value.of.dtype
    neutral = _NEUTRAL[value.kind or "sum"]
    return Number(int(neutral) if dtype == "int" else neutral, dtype)


def _one(steps: Array) -> int | None:
    found = np.unique(steps)
    return None if len(found) > 1 else int(found[0]) if len(found) else 1


def _progressions(row: Array, points: Mapping[str, Array]) -> list[tuple[int, int, int]]:
    """Of the threads that a row counts the (first, step, number) along each axis."""
    chosen = row.astype(bool)
    found, size = list[tuple[int, int, int]](), 1
    for axis in AXES:
        places = np.unique(points[axis][chosen])
        steps = np.unique(np.diff(places))
        if len(steps) > 1:
            raise Unreadable("threads at uneven distances whose values are combined")
        many = len(places)
        found.append((int(places[0]) if many else 0, int(steps[0]) if len(steps) else 1, many))
        size *= many
    if size != int(chosen.sum()):
        raise Unreadable("threads that form no box whose values are combined")
    return found


def _folded(kind: str, index: str, count: Expr, term: Expr) -> Expr:
    """`kind` over `index`; with a fold within it one fold where that is possible."""
    if term.dtype == "int" and kind in ("max", "min"):
        raise Unreadable("an extreme of integers over threads")
    neutral = _NEUTRAL[kind]
    first = Number(int(neutral) if term.dtype == "int" else neutral, term.dtype)
    return merged(plain_fold(kind, index, count, first, f"~{index}", term))


def fitted(values: Array, points: Mapping[str, Array]) -> Expr | None:
    """Integers at points as an expression of the points' coordinates: a linear one, or one of a
    coordinate divided by a power of two and its rest. None where there is none."""
    if not len(values) or (values == values[0]).all():
        return Number(int(values[0]) if len(values) else 0)
    names = [name for name, each in points.items() if (each != each[0]).any()]
    plain: list[tuple[Expr, Array]] = [(Name(name), points[name]) for name in names]
    found = _linear(values, plain)
    if found is not None:
        return found
    for name in names:
        for width in (2**n for n in range(1, 10)):
            if width > points[name].max():
                break
            others = [each for each in plain if each[0] != Name(name)]
            parts: list[tuple[Expr, Array]] = [
                (remade(op, (Name(name), Number(width)), "int"), how(points[name], width))
                for op, how in (("div", np.floor_divide), ("rem", np.remainder))
            ]
            found = _linear(values, [*others, *parts])
            if found is not None:
                return found
    return None


def _linear(values: Array, features: list[tuple[Expr, Array]]) -> Expr | None:
    table = np.stack([np.ones(len(values)), *(each.astype(float) for _, each in features)], axis=1)
    solved = np.rint(np.linalg.lstsq(table, values.astype(float), rcond=None)[0]).astype(np.int64)
    if not (table.astype(np.int64) @ solved == values).all():
        return None
    terms = [product(Number(int(n)), e) for n, (e, _) in zip(solved[1:], features, strict=True)]
    return total((Number(int(solved[0])), *terms))
