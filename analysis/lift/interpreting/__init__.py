"""A lifted kernel executed with numpy, at every place at once: the proof of a lift is that it gives
what the kernel gives.

Values are those of numpy in the types of the lift; integers have 64 bits. Statements run one after
the other for all places, which is one of the orders that a kernel without races allows; a loop runs
as often as the place that needs it most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..expressions import Call as Operation
from ..expressions import Expr, Fold, Load, Name, Number, Sum, Unreadable
from ..operations import TYPES, operate
from ..statements import Barrier, Body, Each, Let, Lifted, Opaque, Scatter, Store, When
from .kept import Kept

Array = npt.NDArray[Any]
MAX_PLACES = 1 << 22
CALL_AS_WORK = 1 << 10
"""elements that numpy computes while it begins with an operation"""
_SCATTERS: Mapping[str, np.ufunc] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


class Disagrees(Exception):
    """What a lift does that no kernel may, such as an access beyond an array."""


def run(
    lifted: Lifted,
    sizes: Mapping[str, int | float],
    arrays: Mapping[str, Array],
    reached: dict[str, int] | None = None,
    most_work: int | None = None,
) -> None:
    """Execute a lift on flat arrays, in place. `sizes`: scalars and what the dimensions' extents
    name (`nctaid.x`). `reached`: gets the largest index that is touched of each array. `most_work`:
    operations on single elements, beyond which it is given up; folds within folds may take any
    number of them.

    Raises Disagrees for an access beyond an array, Unreadable for what is opaque or takes more
    than MAX_PLACES places or `most_work`.
    """
    scalars = {name: np.asarray(value) for name, value in sizes.items()}
    evaluator = _Evaluator(_with_tables(lifted, arrays), {} if reached is None else reached)
    extents = [int(evaluator.value(each.extent, scalars)) for each in lifted.dims]
    if any(extent <= 0 for extent in extents):
        return
    if np.prod(extents, dtype=float) > MAX_PLACES:
        raise Unreadable("the sizes are too large to be interpreted")
    places = np.meshgrid(*(np.arange(extent) for extent in extents), indexing="ij")
    for each, place in zip(lifted.dims, places, strict=True):
        scalars[each.name] = place.ravel()
    count = int(np.prod(extents, dtype=np.int64))
    if most_work is not None:
        evaluator.left = most_work // max(count, CALL_AS_WORK)
    with np.errstate(all="ignore"):
        evaluator.body(lifted.body, scalars, np.ones(count, dtype=bool))


def value_of(expr: Expr, names: Mapping[str, Array]) -> Array:
    """An expression without elements of arrays, where its names have these values. Raises
    Unreadable."""
    with np.errstate(all="ignore"):
        return _Evaluator({}, {}).value(expr, dict(names))


def _with_tables(lifted: Lifted, arrays: Mapping[str, Array]) -> Mapping[str, Array]:
    """The arrays, and tables that are not among them as they begin. Raises Unreadable."""
    found = dict(arrays)
    for each in lifted.tables:
        if each.name in found:
            continue
        if each.initial is None:
            raise Unreadable(f"what the variable {each.name} of the program holds is not known")
        found[each.name] = np.frombuffer(each.initial, dtype=each.dtype)
    return found


class _Evaluator:
    """Evaluates on arrays; names are given to every call, with one value for each place."""

    def __init__(self, arrays: Mapping[str, Array], reached: dict[str, int]) -> None:
        self._arrays, self._reached, self._kept = arrays, reached, Kept()
        self.left: float = np.inf
        """how many operations at all places may follow"""

    def body(self, body: Body, names: dict[str, Array], alive: Array) -> None:
        """Execute statements where `alive`."""
        for each in body:
            match each:
                case Store(array, index, value):
                    at, what = (
                        self._places(array, index, names, alive),
                        self.value(value, names, alive),
                    )
                    self._arrays[array][at] = np.broadcast_to(what, alive.shape)[alive]
                    self._kept.forget(array)
                case Scatter(op, array, index, value):
                    at, what = (
                        self._places(array, index, names, alive),
                        self.value(value, names, alive),
                    )
                    given = np.broadcast_to(what, alive.shape)[alive]
                    _SCATTERS[op].at(self._arrays[array], at, given)
                    self._kept.forget(array)
                case Let(name, value):
                    names[name] = self.value(value, names, alive)
                case When(condition, yes, no):
                    holds = self.value(condition, names, alive).astype(bool)
                    self.body(yes, names, alive & holds)
                    self.body(no, names, alive & ~holds)
                case Each():
                    self._each(each, names, alive)
                case Opaque(why):
                    raise Unreadable(why)
                case Barrier():
                    pass

    def _each(self, loop: Each, names: dict[str, Array], alive: Array) -> None:
        counts = np.broadcast_to(self.value(loop.count, names, alive), alive.shape)
        for each in loop.carried:
            names[each.name] = np.broadcast_to(self.value(each.first, names, alive), alive.shape)
        for turn in range(int(counts[alive].max(initial=0))):
            going = alive & (counts > turn)
            names[loop.index] = np.asarray(turn)
            self.body(loop.body, names, going)
            following = [self.value(each.next, names, going) for each in loop.carried]
            for each, value in zip(loop.carried, following, strict=True):
                names[each.name] = np.where(going, value, names[each.name])

    def value(self, expr: Expr, names: Mapping[str, Array], alive: Array | None = None) -> Array:
        """The value at every place; where a place is not alive, any."""
        self.left -= 1
        if self.left < 0:
            raise Unreadable("it takes too long to be interpreted")
        return self._value(expr, names, alive)

    def _value(self, expr: Expr, names: Mapping[str, Array], alive: Array | None) -> Array:
        match expr:
            case Number(value, dtype):
                return np.asarray(value, dtype=TYPES[dtype])
            case Name(name):
                found = names.get(name)
                if found is None:
                    raise Unreadable(f"the value of {name} is not known")
                return found
            case Sum(terms):
                total = np.asarray(0, dtype=np.int64)
                for factors, number in terms:
                    product = np.asarray(number, dtype=np.int64)
                    for factor in factors:
                        product = product * self.value(factor, names, alive)
                    total = total + product
                return total
            case Operation("select", (condition, yes, no)):
                return self._selected(condition, yes, no, names, alive)
            case Operation("and", (left, right), "bool"):
                first = self.value(left, names, alive).astype(bool)
                both = first if alive is None else alive & first
                return first & self.value(right, names, both).astype(bool)
            case Operation(op, args, dtype):
                return operate(op, [self.value(each, names, alive) for each in args], dtype)
            case Load(array, index):
                return self._loaded(array, index, names, alive)
            case Fold():
                return self._folded(expr, names, alive)
            case _:
                raise Unreadable("an address as a value")

    def _selected(
        self, condition: Expr, yes: Expr, no: Expr, names: Mapping[str, Array], alive: Array | None
    ) -> Array:
        """Each side is looked at only where it is taken: it may lie beyond an array elsewhere."""
        holds = self.value(condition, names, alive).astype(bool)
        ways = (holds, ~holds) if alive is None else (alive & holds, alive & ~holds)
        one, other = (
            self.value(each, names, way) for each, way in zip((yes, no), ways, strict=True)
        )
        return np.where(holds, one, other)

    def _loaded(
        self, array: str, index: Expr, names: Mapping[str, Array], alive: Array | None
    ) -> Array:
        at = np.asarray(self.value(index, names, alive))
        memory = self._arrays[array]
        here = np.ones(at.shape, dtype=bool) if alive is None else alive
        self._touched(array, np.broadcast_to(at, here.shape)[here])
        read = memory[np.clip(at, 0, max(memory.size - 1, 0))]
        return read if read.dtype.kind == "f" else read.astype(np.int64)

    def _places(self, array: str, index: Expr, names: Mapping[str, Array], alive: Array) -> Array:
        at = np.broadcast_to(self.value(index, names, alive), alive.shape)[alive]
        self._touched(array, at)
        return at

    def _touched(self, array: str, at: Array) -> None:
        """Raises Disagrees beyond the array."""
        _within(array, at, self._arrays[array])
        if at.size:
            self._reached[array] = max(self._reached.get(array, -1), int(at.max()))

    def _folded(self, fold: Fold, names: Mapping[str, Array], alive: Array | None) -> Array:
        found = self._kept.value(fold, names, alive)
        if found is None:
            found = self._turned(fold, names, alive)
            self._kept.keep(fold, names, alive, found)
        return found

    def _turned(self, fold: Fold, names: Mapping[str, Array], alive: Array | None) -> Array:
        counts = np.asarray(self.value(fold.count, names, alive))
        mine = dict(names)
        for each in fold.carried:
            mine[each.name] = self.value(each.first, names, alive)
        most = counts if alive is None else np.broadcast_to(counts, alive.shape)[alive]
        for turn in range(int(most.max(initial=0))):
            going = counts > turn if alive is None else alive & (counts > turn)
            mine[fold.index] = np.asarray(turn)
            following = [self.value(each.next, mine, going) for each in fold.carried]
            for each, value in zip(fold.carried, following, strict=True):
                mine[each.name] = np.where(going, value, mine[each.name])
        return mine[fold.carried[fold.which].name]


def _within(array: str, at: Array, memory: Array) -> None:
    if at.size and (int(at.min()) < 0 or int(at.max()) >= memory.size):
        raise Disagrees(f"an access of {array} beyond its {memory.size} elements")
