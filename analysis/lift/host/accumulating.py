"""Elements of arrays that loops use like variables: `y[i] += x` over and over is a sum that is
stored once, `h[x[i]] += 1` an update at a place that the data says."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from ..expressions import Carried, Expr, Load, Name, names_in, walk
from ..folding import combination, fold_of
from ..rewriting import rebuilt, substitute
from ..statements import (
    Barrier,
    Body,
    Each,
    Let,
    Opaque,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    expressions_in,
    statements_in,
)
from .apart import accesses

NEXT = "next "
"""begins the name of a `let` at the end of a loop that stands for what a carried value becomes"""
_UPDATES = {"sum": "add", "max": "max", "min": "min"}


def stored(body: Body) -> set[str]:
    """Arrays that statements write."""
    return {e.array for e in statements_in(body) if isinstance(e, Store | Scatter)}


def read_late(body: Body, kept: Set[str] = frozenset()) -> Body:
    """Statements in which a `let` whose arrays stay as they are until its last use is gone, and one
    that reads what was just stored is that value. `kept`: names that are used elsewhere, too."""
    out, at = list(body), 0
    while at < len(out):
        out[at] = each = _with_stored(out[:at], out[at])
        rest = _without_first(each, tuple(out[at + 1 :]), kept)
        if rest is not None:
            out[at:] = rest
            continue
        at += 1
    return tuple(e for n, e in enumerate(out) if not _overwritten(e, tuple(out[n + 1 :])))


def _without_first(statement: Statement, rest: Body, kept: Set[str]) -> Body | None:
    """The statements after a `let` without it, or after and with a condition without a `let` that
    begins it: what is read where a condition holds is used only where it holds."""
    if isinstance(statement, Let):
        return None if statement.name in kept else _without_let(statement, rest)
    if not isinstance(statement, When):
        return None
    for side in ("yes", "no"):
        inner: Body = getattr(statement, side)
        if inner and isinstance(inner[0], Let) and inner[0].name not in kept:
            made = replace(statement, **{side: inner[1:]})
            found = _without_let(inner[0], (made, *rest))
            if found is not None:
                return tuple(e for e in found if not _is_empty(e))
    return None


def _is_empty(statement: Statement) -> bool:
    return isinstance(statement, When) and not statement.yes and not statement.no


def _with_stored(before: list[Statement], statement: Statement) -> Statement:
    """A statement with values in place of elements that were just stored."""
    if isinstance(statement, Let | Store | Scatter):
        return replace(statement, value=_stored_in(before, statement.value))
    if isinstance(statement, Each) and statement.carried:
        firsts = (replace(c, first=_stored_in(before, c.first)) for c in statement.carried)
        return replace(statement, carried=tuple(firsts))
    return statement


def _stored_in(before: list[Statement], value: Expr) -> Expr:
    written = stored(tuple(before))
    for part in {each: None for each in walk(value) if isinstance(each, Load)}:
        if part.array in written and (known := _just_stored(before, part)) is not None:
            value = _with(value, part, known)
    return value


def _just_stored(before: list[Statement], element: Load) -> Expr | None:
    """What a load reads where a statement before has stored it, and nothing since has changed it or
    what it is made of."""
    since = set[str]()
    for each in reversed(before):
        if isinstance(each, Store) and (each.array, each.index) == (element.array, element.index):
            same = each.value.dtype == element.dtype
            return each.value if same and not _read(each.value) & (since | {each.array}) else None
        since |= stored((each,))
        if element.array in since or isinstance(each, Opaque):
            return None
    return None


def _read(value: Expr) -> set[str]:
    return {part.array for part in walk(value) if isinstance(part, Load)}


def _without_let(let: Let, rest: Body) -> Body | None:
    """The statements after a `let` with its value in them; None where it is another one later."""
    if let.name.startswith(NEXT):
        return None
    arrays = _read(let.value)
    last = max((n for n, each in enumerate(rest) if _uses(each, let.name)), default=-1)
    for at, each in enumerate(rest[: last + 1]):
        # a store evaluates its value first, and may be the last that needs it
        is_last_store = at == last and isinstance(each, Store | Scatter)
        if stored((each,)) & arrays and not is_last_store:
            return None
    return changed(rest, lambda e: substitute(e, {let.name: let.value}))


def _uses(statement: Statement, name: str) -> bool:
    return any(name in names_in(expr) for expr in expressions_in((statement,)))


def _overwritten(statement: Statement, rest: Body) -> bool:
    """Whether it is a store that a later one of the same element makes useless."""
    if not isinstance(statement, Store):
        return False
    for each in rest:
        touched = [a for a in accesses((each,)) if a.array == statement.array]
        if isinstance(each, Opaque | Barrier) or any(a.how != "write" for a in touched):
            return False
        if isinstance(each, Store) and (each.array, each.index) == (
            statement.array,
            statement.index,
        ):
            return True
    return False


def accumulated(loop: Each, name: str) -> Body:
    """A loop with an element of an array that it reads and writes over and over as the carried
    value `name`; what stands for it. The loop alone where it has no such element."""
    if any(isinstance(each, Opaque | Barrier) for each in statements_in(loop.body)):
        return (loop,)
    inside = {loop.index, *_given(loop)}
    for store in loop.body:
        if isinstance(store, Store) and not names_in(store.index) & inside:
            element = Load(store.array, store.index, store.value.dtype)
            if _is_like_a_variable(element, loop.body):
                return _carried(loop, element, name)
    return (loop,)


def _given(loop: Each) -> Iterator[str]:
    for each in statements_in((loop,)):
        if isinstance(each, Let):
            yield each.name
        elif isinstance(each, Each):
            yield each.index
            yield from (carried.name for carried in each.carried)


def _is_like_a_variable(element: Load, body: Body) -> bool:
    """Whether the array is touched at that element alone, by no loop or condition within, and is
    first read."""
    mine = [a for a in accesses(body) if a.array == element.array]
    nested = tuple(each for each in body if isinstance(each, Each | When))
    alone = not any(a.array == element.array for a in accesses(nested))
    plain = all(a.index == element.index and a.how in ("read", "write") for a in mine)
    return alone and plain and mine[0].how == "read"


def _carried(loop: Each, element: Load, name: str) -> Body:
    """The loop with the element as a value: read before it, stored after it."""
    here: Expr = Name(name, element.dtype)
    body = list[Statement]()
    for each in loop.body:
        value = here
        (made,) = changed((each,), lambda e, to=value: _with(e, element, to))
        if isinstance(made, Store) and made.array == element.array:
            here = made.value
        else:
            body.append(made)
    mine = Carried(name, element.dtype, element, here)
    made = replace(loop, carried=(*loop.carried, mine), body=tuple(body))
    value: Expr = Name(name, element.dtype)
    if body or loop.carried:
        return made, Store(element.array, element.index, value)
    value = fold_of(name, {name: mine}, loop.index, loop.count)
    return (Store(element.array, element.index, value),)


def _with(expr: Expr, element: Load, value: Expr) -> Expr:
    """An expression with a value in place of an element."""
    return value if expr == element else rebuilt(expr, lambda part: _with(part, element, value))


def updated(body: Body) -> Body:
    """Stores of an element combined with something else as updates of it: in whatever order they
    run, they leave the same."""
    return tuple(_updated(each) for each in body)


def _updated(statement: Statement) -> Statement:
    match statement:
        case Store(array, index, value):
            element = Load(array, index, value.dtype)
            mine = Carried("~", value.dtype, element, _with(value, element, Name("~", value.dtype)))
            found = combination(mine)
            if found is None or found[0] not in _UPDATES or array in _read(found[1]):
                return statement
            return Scatter(_UPDATES[found[0]], array, index, found[1])
        case When(_, yes, no):
            return replace(statement, yes=updated(yes), no=updated(no))
        case Each(_, _, (), inner):
            return replace(statement, body=updated(inner))
        case _:
            return statement
