"""A lift run at small shapes: which elements it touches, and whether what was there counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..expressions import Unreadable, names_in
from ..interpreting import Disagrees, run
from ..operations import brain
from ..statements import Lifted, Scatter, Store, expressions_in, statements_in
from .indexing import Bound

PRIMES = ((5, 7, 3, 11, 4, 6), (7, 4, 9, 5, 6, 3), (9, 11, 5, 7, 10, 8), (6, 5, 8, 4, 9, 7))
"""sizes of each sample, by the place of an integer among the parameters"""
OTHERS = (13, 11, 9, 7, 10, 8)
"""sizes beside a small one: of windows and tiles, which fit into what they go over"""
ELEMENTS = 1 << 14
DTYPES = {"bool": "int8"}


@dataclass(frozen=True)
class Sample:
    """One shape."""

    sizes: Mapping[str, int]
    reached: Mapping[str, int]
    """array -> its largest index that was touched"""
    roles: Mapping[str, str]


def samples(lifted: Lifted, indices: Mapping[str, Bound]) -> tuple[Sample, ...]:
    """The lift at several shapes, at which it stores something if there are enough of those; none
    where it cannot be run."""
    written = {s.array for s in statements_in(lifted.body) if isinstance(s, Store | Scatter)}
    try:
        first = [_sample(lifted, indices, values) for values in PRIMES]
        busy = [each for each in first if written <= each.reached.keys()]
        further = _further(sum(not a.array and "int" in a.dtype for a in lifted.arguments))
        while len(busy) < len(PRIMES) and (values := next(further, None)) is not None:
            other = _sample(lifted, indices, values)
            busy += [other] * (written <= other.reached.keys())
    except (Disagrees, Unreadable, ArithmeticError, KeyError):
        return ()
    return tuple(busy if len(busy) == len(PRIMES) else first)


def _further(integers: int) -> Iterator[tuple[int, ...]]:
    """Shapes with one small size, each in its turn."""
    for small in (2, 3):
        for at in range(integers):
            yield tuple(small if n == at else OTHERS[n % len(OTHERS)] for n in range(integers))


def _sample(lifted: Lifted, indices: Mapping[str, Bound], values: tuple[int, ...]) -> Sample:
    integers = [a for a in lifted.arguments if not a.array and "int" in a.dtype]
    sizes = {a.name: values[at % len(values)] for at, a in enumerate(integers)}
    scalars: dict[str, int | float] = dict(sizes)
    scalars |= {a.name: 1.5 for a in lifted.arguments if not a.array and a.name not in sizes}
    fixed = {name: sizes.get(bound.size, values[-1]) for name, bound in indices.items()}
    reached = dict[str, int]()
    ways = [_arrays(lifted, fixed, seed) for seed in (values[0], values[0] + 1)]
    starts = [{name: array.copy() for name, array in way.items()} for way in ways]
    written = {s.array for s in statements_in(lifted.body) if isinstance(s, Store | Scatter)}
    for name in ways[0].keys() - written:  # the same inputs, another beginning of what is written
        ways[1][name] = ways[0][name]
    for way in ways:
        run(lifted, scalars, way, reached)
    other = {n: a if n in fixed else -starts[0][n] for n, a in starts[1].items()}
    run(lifted, scalars, other, reached)  # what conditions on signs kept from the first two
    known = {**sizes, **{b.stand_in: fixed[n] for n, b in indices.items()}}
    used = _used(lifted) | {b.stand_in for b in indices.values()}
    roles = {name: "input" for name in ways[0] if name not in written}
    for name in written:
        last = reached.get(name, -1) + 1
        same = np.array_equal(ways[0][name][:last], ways[1][name][:last], equal_nan=True)
        moved = not np.array_equal(starts[0][name][:last], ways[0][name][:last], equal_nan=True)
        roles[name] = "" if not last or not moved else "output" if same else "inout"
    return Sample({n: v for n, v in known.items() if n in used}, reached, roles)


def _used(lifted: Lifted) -> set[str]:
    """Names that what is computed hangs on."""
    exprs = (*expressions_in(lifted.body), *(each.extent for each in lifted.dims))
    return set[str]().union(*(names_in(each) for each in exprs))


def _arrays(lifted: Lifted, fixed: Mapping[str, int], seed: int) -> dict[str, npt.NDArray[Any]]:
    """Random arrays; arrays of indices hold the largest legal one, and all below it."""
    random, made = np.random.default_rng(seed), dict[str, npt.NDArray[Any]]()
    for each in lifted.arguments:
        if not each.array:
            continue
        is_brain = each.dtype == "bfloat16"
        dtype = "float32" if is_brain else DTYPES.get(each.dtype, each.dtype)
        if each.name in fixed:
            values = fixed[each.name] - 1 - np.arange(ELEMENTS) % fixed[each.name]
        elif is_brain or each.dtype.startswith("float"):  # of both signs, and never near nothing
            values = random.uniform(0.5, 2, ELEMENTS) * random.choice((-1, 1), ELEMENTS)
        else:
            values = random.integers(0, 3, ELEMENTS)
        made[each.name] = brain(values) if is_brain else values.astype(dtype)
    for table in lifted.tables:  # what a program puts there says nothing of sizes
        if table.initial is None and table.name not in made:
            values = random.uniform(0.5, 2, table.elements)
            made[table.name] = values.astype(DTYPES.get(table.dtype, table.dtype))
    return made
