"""What a lifted kernel does, in order: stores, scatters, loops and conditions around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .expressions import Carried, Expr, Load, all_of, call, conjuncts, negation, walk


@dataclass(frozen=True, slots=True)
class Store:
    """An element of an array gets a value; `index` counts elements."""

    array: str
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Scatter:
    """An atomic update: the element becomes `op` (add, min, max ...) of itself and the value."""

    op: str
    array: str
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Let:
    """A value that is taken here, as what it reads is changed later."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class When:
    """Statements that run where a condition holds, and others where it does not."""

    condition: Expr
    yes: Body
    no: Body


@dataclass(frozen=True, slots=True)
class Each:
    """A loop of `count` iterations, `index` from 0."""

    index: str
    count: Expr
    carried: tuple[Carried, ...]
    body: Body
    apart: bool = False
    """whether its iterations surely may run in any order; False: that is not known"""


@dataclass(frozen=True, slots=True)
class Barrier:
    """All threads of a block wait for each other."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that is not understood, and why."""

    why: str


Statement = Store | Scatter | Let | When | Each | Barrier | Opaque
Body = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a kernel as its contract calls it."""

    name: str
    dtype: str
    """as in a contract: float32, int32 ..."""
    array: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A variable of the module that kernels read alone, `__constant__` or `__device__`."""

    name: str
    """as PTX has it"""
    dtype: str
    """of its elements, as its first access had it"""
    elements: int
    initial: bytes | None = None
    """what it begins as, where the text says so in full"""


@dataclass(frozen=True, slots=True)
class Dim:
    """A parallel dimension: `name` from 0 to `extent - 1`, in any order."""

    name: str
    extent: Expr


@dataclass(frozen=True, slots=True)
class Lifted:
    """A kernel: its statements at every place of its parallel dimensions."""

    name: str
    arguments: tuple[Argument, ...]
    dims: tuple[Dim, ...]
    body: Body
    shared: tuple[tuple[str, str, int | None], ...] = ()
    """arrays of a block: name, type of an element as `Argument`, elements"""
    tables: tuple[Table, ...] = ()

    @property
    def opaque(self) -> tuple[str, ...]:
        """Why parts are not understood, each reason once; empty: it is lifted whole."""
        return tuple(
            dict.fromkeys(each.why for each in statements_in(self.body) if isinstance(each, Opaque))
        )


def statements_in(body: Body) -> Iterator[Statement]:
    """Every statement, those within others after them."""
    for each in body:
        yield each
        if isinstance(each, When):
            yield from statements_in(each.yes)
            yield from statements_in(each.no)
        elif isinstance(each, Each):
            yield from statements_in(each.body)


def defined(body: Body) -> set[str]:
    """Names that statements give another value in every iteration around them."""
    found = set[str]()
    for each in statements_in(body):
        if isinstance(each, Let):
            found.add(each.name)
        elif isinstance(each, Each):
            found |= {carried.name for carried in each.carried}
    return found


def expressions_in(body: Body) -> Iterator[Expr]:
    """Every expression that a statement directly holds."""
    for each in statements_in(body):
        match each:
            case Store(_, index, value) | Scatter(_, _, index, value):
                yield index
                yield value
            case Let(_, value):
                yield value
            case When(condition):
                yield condition
            case Each(_, count, carried):
                yield count
                for one in carried:
                    yield one.first
                    yield one.next
            case _:
                pass


def changed(body: Body, change: Callable[[Expr], Expr]) -> Body:
    """The statements with every expression changed."""
    return tuple(_changed(each, change) for each in body)


def _changed(statement: Statement, change: Callable[[Expr], Expr]) -> Statement:
    match statement:
        case Store(array, index, value):
            return Store(array, change(index), change(value))
        case Scatter(op, array, index, value):
            return Scatter(op, array, change(index), change(value))
        case Let(name, value):
            return Let(name, change(value))
        case When(condition, yes, no):
            return When(change(condition), changed(yes, change), changed(no, change))
        case Each(index, count, carried, inner):
            made = tuple(Carried(c.name, c.dtype, change(c.first), change(c.next)) for c in carried)
            return Each(index, change(count), made, changed(inner, change), statement.apart)
        case _:
            return statement


def either(first: Statement, second: Statement) -> When | None:
    """One element that is stored under a condition, and under its opposite another value, as one
    that is chosen; None for others."""
    match first, second:
        case When(one, (Store(array, index, yes),), ()), When(other, (Store(to, at, no),), ()):
            if (array, index) != (to, at):
                return None
        case _:
            return None
    mine, theirs = conjuncts(one), conjuncts(other)
    shared = tuple(each for each in mine if each in theirs)
    rest = [[e for e in part if e not in shared] for part in (mine, theirs)]
    read = {e.array for part in (one, yes, no) for e in walk(part) if isinstance(e, Load)}
    if len(rest[0]) != 1 or [negation(rest[0][0])] != rest[1] or array in read or not shared:
        return None
    chosen = call("select", rest[0][0], yes, no, dtype=yes.dtype)
    return When(all_of(shared), (Store(array, index, chosen),), ())
