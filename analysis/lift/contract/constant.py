"""Sizes of arrays of a kernel that is for one size alone: those of its loops and its launch are
numbers, often so large that no run tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as pairs

from ..expressions import Call, Expr, Fold, Load, Name, Number, Sum, walk
from ..statements import Each, Lifted, Scatter, Store, expressions_in, statements_in
from .indexing import accessed

Range = tuple[int, int]
"""the least and the largest value"""


def constant_shapes(lifted: Lifted) -> Mapping[str, tuple[str, ...]]:
    """The number of elements of each array whose every index lies between numbers: the least that
    holds what any of them may be. Conditions around an access are not looked at."""
    known, ends = _indices(lifted), dict[str, int | None]()
    for array, index in accessed(lifted):
        last = _range(index, known)
        if last is None or ends.get(array, 0) is None:
            ends[array] = None
        else:
            ends[array] = max(ends.get(array) or 0, last[1] + 1)
    return {array: (str(end),) for array, end in ends.items() if end}


def constant_roles(lifted: Lifted) -> Mapping[str, str]:
    """The role of each array that is read: whether it is written, too."""
    stored = {s.array for s in statements_in(lifted.body) if isinstance(s, Store | Scatter)}
    outer = expressions_in(lifted.body)
    read = {each.array for top in outer for each in walk(top) if isinstance(each, Load)}
    return {array: "inout" if array in stored else "input" for array in read}


def _indices(lifted: Lifted) -> dict[str, Range]:
    """Indices of dimensions, loops and folds whose number of turns is a number."""
    counts = {dim.name: dim.extent for dim in lifted.dims}
    for statement in statements_in(lifted.body):
        if isinstance(statement, Each):
            counts[statement.index] = statement.count
    for outer in expressions_in(lifted.body):
        counts |= {each.index: each.count for each in walk(outer) if isinstance(each, Fold)}
    known = dict[str, Range]()
    for name, count in counts.items():
        turns = _range(count, known)
        if turns is not None:
            known[name] = (0, max(0, turns[1] - 1))
    return known


def _range(value: Expr, known: Mapping[str, Range]) -> Range | None:
    match value:
        case Number(number) if isinstance(number, int):
            return number, number
        case Name(name):
            return known.get(name)
        case Sum(terms):
            low = high = 0
            for factors, number in terms:
                one: Range | None = (number, number)
                for each in factors:
                    one = _product(one, _range(each, known))
                if one is None:
                    return None
                low, high = low + one[0], high + one[1]
            return low, high
        case Call("div" | "rem" as op, (left, Number(number))) if number > 0:
            return _of_quotient(op, _range(left, known), int(number))
        case Call("min" | "max" | "select" as op, args):
            return _of_choice(op, [_range(each, known) for each in args[op == "select" :]])
        case _:
            return None


def _of_quotient(op: str, whole: Range | None, by: int) -> Range | None:
    if whole is None or whole[0] < 0:
        return None
    return (whole[0] // by, whole[1] // by) if op == "div" else (0, min(whole[1], by - 1))


def _of_choice(op: str, ways: Sequence[Range | None]) -> Range | None:
    some = [each for each in ways if each is not None]
    if len(some) < len(ways):
        return None
    least, most = (max, max) if op == "max" else (min, min) if op == "min" else (min, max)
    return least(low for low, _ in some), most(high for _, high in some)


def _product(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None:
        return None
    made = [left * right for left, right in pairs(one, other)]
    return min(made), max(made)
