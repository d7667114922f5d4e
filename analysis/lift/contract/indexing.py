"""Arrays of indices, and arrays that others are divided by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..expressions import Call, Expr, Load, Name, names_in, walk
from ..statements import Lifted, Scatter, Store, expressions_in, statements_in
from ..sums import terms_of


@dataclass(frozen=True)
class Bound:
    """What the elements of an array of indices stay below."""

    stand_in: str
    """a name for it while sizes are sought"""
    size: str
    """the one integer parameter that the kernel does not use otherwise; empty: not known"""


def index_arrays(lifted: Lifted) -> Mapping[str, Bound]:
    """Integer arrays whose elements say by themselves which element of another array is meant."""
    integers = {a.name for a in lifted.arguments if a.array and "int" in a.dtype}
    found = dict.fromkeys(
        part.array
        for index in _indices(lifted)
        for part in walk(index)
        if isinstance(part, Load) and part.array in integers
    )
    unused = _unused(lifted)
    size = unused[0] if len(unused) == 1 else ""
    return {name: Bound(f"~{name}", size) for name in found}


def placed_by_data(lifted: Lifted, indices: Mapping[str, Bound]) -> frozenset[str]:
    """Arrays of which data, and not only an array of indices, say which elements are touched: no
    run at random values shows how large they must be."""
    found = set[str]()
    for array, index in accessed(lifted):
        direct = set(_direct(index, indices))
        loads = {part for part in walk(index) if isinstance(part, Load)}
        carried = any(isinstance(p, Name) and p.name.startswith("~") for p in walk(index))
        if loads - direct or carried:
            found.add(array)
    return frozenset(found)


def _direct(index: Expr, indices: Mapping[str, Bound]) -> Iterator[Load]:
    """Elements of arrays of indices that are factors of a sum as they are."""
    for factors in terms_of(index):
        for each in factors:
            if isinstance(each, Load) and each.array in indices:
                yield each


def _unused(lifted: Lifted) -> list[str]:
    """Integers that only tests of the whole call look at, or nothing does."""
    exprs = [*_indices(lifted), *(each.extent for each in lifted.dims)]
    for each in statements_in(lifted.body):
        count = getattr(each, "count", None)
        if count is not None:
            exprs.append(count)
        if isinstance(each, Store | Scatter):
            exprs.append(each.value)
    used = set[str]().union(*(names_in(each) for each in exprs))
    integers = [a.name for a in lifted.arguments if not a.array and "int" in a.dtype]
    return [name for name in integers if name not in used]


def accessed(lifted: Lifted) -> Iterator[tuple[str, Expr]]:
    """Array and index of each access."""
    for each in statements_in(lifted.body):
        if isinstance(each, Store | Scatter):
            yield each.array, each.index
    for expr in expressions_in(lifted.body):
        for part in walk(expr):
            if isinstance(part, Load):
                yield part.array, part.index


def turning(lifted: Lifted, array: str) -> str:
    """The integer by which every index of an array is a remainder: `bias[i % channels]`; empty
    where there is no such one."""
    integers = {a.name for a in lifted.arguments if not a.array}
    found = set[str]()
    for index in (at for name, at in accessed(lifted) if name == array):
        by = index.args[1] if isinstance(index, Call) and index.op == "rem" else None
        found.add(by.name if isinstance(by, Name) and by.name in integers else "")
    return found.pop() if len(found) == 1 else ""


def _indices(lifted: Lifted) -> Iterator[Expr]:
    return (index for _, index in accessed(lifted))


def divisors(lifted: Lifted) -> frozenset[str]:
    """Arrays of floats whose elements something is divided by, or whose root or logarithm is taken,
    as they are."""
    found = set[str]()
    for expr in expressions_in(lifted.body):
        for part in walk(expr):
            if not isinstance(part, Call) or part.dtype not in ("f32", "f64"):
                continue
            at = {"div": 1, "rcp": 0, "rsqrt": 0, "log": 0, "log2": 0, "log10": 0, "sqrt": 0}
            given = part.args[at[part.op]] if part.op in at else Name("")
            if isinstance(given, Load):
                found.add(given.array)
    return frozenset(found)
