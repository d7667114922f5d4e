"""Loops in another order, and two as one, where what they touch is apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..expressions import Carried, Expr, Load, Name, names_in, walk
from ..folding import fold_of
from ..rewriting import renamed, substitute
from ..statements import (
    Barrier,
    Body,
    Each,
    Let,
    Opaque,
    Statement,
    changed,
    expressions_in,
    statements_in,
)
from .accumulating import stored
from .apart import accesses, apart


def swapped(loop: Each, around: Sequence[Expr]) -> Each:
    """A loop that goes over the same elements in each of its iterations, which lie apart, with the
    loop over those elements outside: what an element gets it gets in the same order. `around`:
    counts of loops around it."""
    if loop.carried or len(loop.body) != 1 or not isinstance(loop.body[0], Each):
        return loop
    inner = loop.body[0]
    written = stored(inner.body)
    moves = any(loop.index in names_in(a.index) for a in accesses(inner.body) if a.array in written)
    if (
        moves
        or not written
        or loop.index in names_in(inner.count)
        or not apart(inner, (*around, loop.count))
    ):
        return loop
    return replace(inner, apart=True, body=(replace(loop, apart=False, body=inner.body),))


def fused(body: Body, around: Sequence[Expr]) -> Body:
    """Neighbouring loops of one count, of which each is apart, as one that is apart as well."""
    out = list[Statement]()
    for each in body:
        before = out[-1] if out else None
        if isinstance(each, Each) and isinstance(before, Each):
            both = _one(before, each, around)
            if both is not None:
                out[-1] = both
                continue
        out.append(each)
    return tuple(out)


def _one(first: Each, second: Each, around: Sequence[Expr]) -> Each | None:
    if first.carried or second.carried or first.count != second.count:
        return None
    if any(isinstance(e, Opaque | Barrier | Let) for e in statements_in((first, second))):
        return None
    index = {second.index: Name(first.index)}
    more = changed(second.body, lambda e: substitute(e, index))
    made = Each(first.index, first.count, (), (*first.body, *more))
    # a loop that only shares what it reads with another one gains nothing in it
    if not {a.array for a in accesses(more)} & stored(first.body):
        return None
    return made if apart(made, around) else None


def split(body: Body, taken: set[str]) -> Body:
    """Loops that fold a value while they do something else, as the value and the rest: each is then
    read by itself. `taken`: names that are not free."""
    out, at = list(body), 0
    while at < len(out):
        each = out[at]
        alone = _alone(each) if isinstance(each, Each) else None
        if isinstance(each, Each) and alone is not None:
            name = next(n for k in range(1 << 20) if (n := f"t{k}") not in taken)
            taken.add(name)
            known = {alone.name: Name(name, alone.dtype)}
            fold = fold_of(alone.name, {alone.name: alone}, each.index, each.count)
            value = renamed(fold, {each.index: f"{each.index}{name}"})  # the loop keeps its own
            left = tuple(c for c in each.carried if c is not alone)
            rest = changed(tuple(out[at + 1 :]), lambda e, to=known: substitute(e, to))
            out[at:] = [Let(name, value), replace(each, carried=left), *rest]
        else:
            at += 1
    return tuple(out)


def _alone(loop: Each) -> Carried | None:
    """A carried value that nothing else of the loop needs, and that needs nothing else of it."""
    inside = {n for e in expressions_in(loop.body) for n in names_in(e)}
    written = stored(loop.body)
    given = {e.name for e in statements_in(loop.body) if isinstance(e, Let)}
    given |= {c.name for e in statements_in(loop.body) if isinstance(e, Each) for c in e.carried}
    for each in loop.carried:
        others = (c for c in loop.carried if c is not each)
        needed = inside.union(*(names_in(c.next) for c in others))
        needs = names_in(each.next) & (given | {c.name for c in loop.carried if c is not each})
        read = {part.array for part in walk(each.next) if isinstance(part, Load)}
        if each.name not in needed and not needs and not read & written:
            return each
    return None
