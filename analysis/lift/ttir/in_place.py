"""Rows that are changed in place: what is read of them is what they held before.

A kernel that has read all that it needs of an array before it stores to it may be told without a
name for every element: what is folded is taken at the beginning, and an element of its own place
right before it is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..expressions import Expr, Fold, Load, Name, Unreadable, names_in, walk
from ..rewriting import rebuilt
from ..statements import (
    Body,
    Each,
    Let,
    Lifted,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    expressions_in,
    statements_in,
)

MOVED = "a row that is changed in place is read at another place than it is stored"


def with_old_values(lifted: Lifted, written: frozenset[str]) -> Lifted:
    """A lift whose reads all mean what arrays held in the beginning, with names for what is read of
    those that are `written`. Raises Unreadable where a later statement would read what an earlier
    one has stored."""
    taken = _Taken(written)
    body = changed(lifted.body, taken.folds)
    if not _only_once(body, written):
        raise Unreadable(MOVED)
    bound = {d.name for d in lifted.dims} | {a.name for a in lifted.arguments}
    if any(_bound_by_loops(body) & names_in(fold) - bound for fold in taken.names):
        raise Unreadable("a row is folded anew for every element that it is changed in")
    front = tuple(Let(name.name, fold) for fold, name in taken.names.items())
    return replace(lifted, body=(*front, *_with_elements(body, taken)))


class _Taken:
    """Names of what is taken before it is changed."""

    def __init__(self, written: frozenset[str]) -> None:
        self.written = written
        self.names = dict[Expr, Name]()
        self.count = 0

    def name(self, value: Expr) -> Name:
        """A new name."""
        self.count += 1
        return Name(f"t{self.count}", value.dtype)

    def reads(self, expr: Expr) -> bool:
        """Whether it hangs on an array that is written."""
        return any(isinstance(e, Load) and e.array in self.written for e in walk(expr))

    def folds(self, expr: Expr) -> Expr:
        """With names for folds of what is written."""
        if isinstance(expr, Fold) and self.reads(expr):
            if expr not in self.names:
                self.names[expr] = self.name(expr)
            return self.names[expr]
        return rebuilt(expr, self.folds)


def _bound_by_loops(body: Body) -> set[str]:
    return {each.index for each in statements_in(body) if isinstance(each, Each)}


def _with_elements(body: Body, taken: _Taken) -> Body:
    """Statements with names for elements of their own places, taken before any is stored."""
    stores = [each for each in body if isinstance(each, Store | Scatter)]
    places = {(each.array, each.index) for each in stores}
    known = dict[Expr, Name]()

    def named(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.array in taken.written:
            if (expr.array, expr.index) not in places:
                raise Unreadable(MOVED)
            if expr not in known:
                known[expr] = taken.name(expr)
            return known[expr]
        return rebuilt(expr, named)

    out = [_named(each, named, taken) for each in body]
    return (*(Let(name.name, load) for load, name in known.items()), *out)


def _named(each: Statement, named: Callable[[Expr], Expr], taken: _Taken) -> Statement:
    if isinstance(each, Each):
        if each.carried:
            raise Unreadable(MOVED)
        return replace(each, body=_with_elements(each.body, taken))
    if isinstance(each, When):
        if taken.reads(each.condition):
            raise Unreadable(MOVED)
        yes, no = (_with_elements(part, taken) for part in (each.yes, each.no))
        return replace(each, yes=yes, no=no)
    (made,) = changed((each,), named)
    return made


def _only_once(body: Body, written: frozenset[str]) -> bool:
    """Whether each array that is written is stored by statements of one list alone, so that no
    earlier loop has changed what a later one reads."""
    lists = [body, *_lists_in(body)]
    homes = [{s.array for s in each if isinstance(s, Store | Scatter)} & written for each in lists]
    reads = [_read_in(each, written) for each in lists]
    return all(
        array not in read or home is mine
        for mine, read in zip(homes, reads, strict=True)
        for home in homes
        for array in home
    )


def _lists_in(body: Body) -> list[Body]:
    found = list[Body]()
    for each in statements_in(body):
        if isinstance(each, Each):
            found.append(each.body)
        elif isinstance(each, When):
            found += [each.yes, each.no]
    return found


def _read_in(body: Body, written: frozenset[str]) -> set[str]:
    plain = tuple(each for each in body if not isinstance(each, Each | When))
    loads = (e for expr in expressions_in(plain) for e in walk(expr) if isinstance(e, Load))
    return {e.array for e in loads if e.array in written}
