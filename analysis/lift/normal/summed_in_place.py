"""Elements that a kernel adds to in memory, over and over, as sums that are stored once: `y[i] = 0`
and a loop of `y[i] += x` is `y[i] = sum(...)`, as if the sum had stood in a variable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..expressions import FLOATS, Expr, Fold, Load, Name, Number, call, names_in, walk
from ..host.accumulating import accumulated, read_late, stored
from ..rewriting import rebuilt
from ..statements import (
    Barrier,
    Body,
    Each,
    Let,
    Lifted,
    Opaque,
    Statement,
    Store,
    When,
    expressions_in,
    statements_in,
)


def summed_in_place(lifted: Lifted) -> Lifted:
    """The kernel with such sums; itself where it has none, or where threads wait for each other."""
    every = list(statements_in(lifted.body))
    if any(isinstance(each, Barrier | Opaque) for each in every):
        return lifted
    if not any(isinstance(each, Each) and stored(each.body) for each in every):
        return lifted
    names = _Names(lifted)
    made = _body(lifted.body, names)
    if sum(isinstance(e, Each) for e in statements_in(made)) >= sum(
        isinstance(e, Each) for e in every
    ):
        return lifted
    return replace(lifted, body=_read_first(made, names, stored(made)))


class _Names:
    """New names of a kernel, of values that loops carry and of those that are read."""

    def __init__(self, lifted: Lifted) -> None:
        taken = set[str]().union(*(names_in(e) for e in expressions_in(lifted.body)))
        taken |= {e.name for e in statements_in(lifted.body) if isinstance(e, Let)}
        taken |= {a.name for a in lifted.arguments}
        self.carried = (n for at in range(1 << 20) if (n := f"~r{at}") not in taken)
        self.read = (n for at in range(1, 1 << 20) if (n := f"t{at}") not in taken)


def _body(body: Body, names: _Names) -> Body:
    made = list[Statement]()
    for each in body:
        if isinstance(each, When):
            made.append(replace(each, yes=_body(each.yes, names), no=_body(each.no, names)))
        elif isinstance(each, Each):
            made += _loop(replace(each, body=_body(each.body, names)), names)
        else:
            made.append(each)
    return read_late(tuple(made))


def _loop(loop: Each, names: _Names) -> Body:
    found = accumulated(loop, next(names.carried))
    if isinstance(found[0], Each) and len(found) > 1:
        return (*_loop(found[0], names), *found[1:])
    return tuple(_from_nothing(each) for each in found)


def _from_nothing(statement: Statement) -> Statement:
    """A sum that begins with an element as that element and the sum."""
    match statement:
        case Store(_, _, Fold("sum", _, _, (one,), _) as fold) if one.dtype in FLOATS and any(
            isinstance(part, Load) for part in walk(one.first)
        ):
            nothing = Number(0.0, one.dtype)
            alone = replace(fold, carried=(replace(one, first=nothing),))
            return replace(statement, value=call("add", one.first, alone, dtype=one.dtype))
        case _:
            return statement


def _read_first(body: Body, names: _Names, written: set[str]) -> Body:
    """Statements in which what is read of an array that the kernel writes has a name before it is
    used, as lifts of kernels have it."""
    made = list[Statement]()
    for each in body:
        if isinstance(each, When):
            yes, no = (_read_first(part, names, written) for part in (each.yes, each.no))
            made.append(replace(each, yes=yes, no=no))
        elif isinstance(each, Each):
            made.append(replace(each, body=_read_first(each.body, names, written)))
        elif isinstance(each, Store):
            if made and (value := _over(made[-1], each)) is not None:
                made.pop()
                each = replace(each, value=value)
            given = {load: next(names.read) for load in dict.fromkeys(_alone(each.value, written))}
            made += [Let(name, load) for load, name in given.items()]
            known = {load: Name(name, load.dtype) for load, name in given.items()}
            made.append(replace(each, value=_with(each.value, known)))
        else:
            made.append(each)
    return tuple(made)


def _over(before: Statement, store: Store) -> Expr | None:
    """The value of a store over one that it follows, from what that one was given; None where it
    stores another element. The value before it reads nothing that it has not read there."""
    match before:
        case Store(array, index, value) if (array, index) == (store.array, store.index):
            element = Load(array, index, value.dtype)
            same = value.dtype in FLOATS and store.value.dtype == value.dtype
            rest = [p for p in _alone(_with(store.value, {element: Name("~")}), {array})]
            return _with(store.value, {element: value}) if same and not rest else None
        case _:
            return None


def _alone(value: Expr, written: set[str]) -> Iterator[Load]:
    """Elements of written arrays at places that no loop within the value says."""
    folds = [part for part in walk(value) if isinstance(part, Fold)]
    turning = {fold.index for fold in folds} | {c.name for fold in folds for c in fold.carried}
    for part in walk(value):
        if isinstance(part, Load) and part.array in written and not names_in(part) & turning:
            yield part


def _with(value: Expr, known: Mapping[Load, Expr]) -> Expr:
    if isinstance(value, Load) and value in known:
        return known[value]
    return rebuilt(value, lambda part: _with(part, known))
