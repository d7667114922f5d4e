"""What a host C++ function computes, in the representation of kernels: loops whose iterations lie
apart are parallel dimensions, elements that loops add to are folds, and the rest stays a loop.

It is read from the PTX of the function as device code of one thread
(`runners/toolchains/compilers/plain_host`). Arrays are taken not to overlap, as contracts say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ...ptx import Module
from .. import lift
from ..conditions import settled
from ..expressions import Expr, Name, Unreadable, names_in
from ..rewriting import numbered, substitute
from ..statements import (
    Argument,
    Body,
    Dim,
    Each,
    Let,
    Lifted,
    Statement,
    When,
    changed,
    expressions_in,
    statements_in,
)
from .accumulating import NEXT, accumulated, read_late, stored, updated
from .apart import apart
from .ordering import fused, split, swapped

__all__ = ["lift_host"]

ONE_THREAD = (1, 1, 1)
_PLACES = ("i", "j", "k")
"""names of dimensions from the innermost on, as kernels have them"""


def lift_host(module: Module, entry: str, arguments: Sequence[Argument]) -> Lifted:
    """A host function of a module as what it computes; `arguments` as for `lift`."""
    read = lift(module, entry, arguments, ONE_THREAD, tables=True)
    try:
        taken = {each.name for each in arguments}
        body = _Order(read.body, taken).body(read.body)
        dims, inner = _outermost(settled(body), taken)
        return numbered(replace(read, dims=dims, body=inner))
    except Unreadable:
        return read


class _Order:
    """Puts the loops of a function in order, from within."""

    def __init__(self, body: Body, taken: set[str]) -> None:
        self._taken = taken | _names(body)
        self._around = list[Expr]()

    def body(self, body: Body, kept: Set[str] = frozenset()) -> Body:
        """Statements with what they hold in order, and in few parts. `kept`: names that are used
        elsewhere, too."""
        within = list[Statement]()
        for at, each in enumerate(body):
            within += self._statement(each, kept | _names((*body[:at], *body[at + 1 :])))
        made = read_late(split(tuple(within), self._taken), kept)
        while (both := fused(made, self._around)) != made:
            made = self.body(both, kept)
        return read_late(tuple(self._marked(each) for each in made), kept)

    def _statement(self, each: Statement, kept: Set[str]) -> Body:
        if isinstance(each, When):
            one, other = _names(each.yes), _names(each.no)
            yes, no = self.body(each.yes, kept | other), self.body(each.no, kept | one)
            return (replace(each, yes=yes, no=no),)
        return self._loop(each) if isinstance(each, Each) else (each,)

    def _loop(self, loop: Each) -> Body:
        made = self._inside(loop)
        other = swapped(made, self._around)
        if other is not made:
            return (self._inside(other),)
        found = accumulated(made, self._name())
        if isinstance(found[0], Each) and len(found) > 1:
            return (*self._loop(found[0]), *found[1:])
        return found

    def _inside(self, loop: Each) -> Each:
        """The loop with its body in order; what it carries on is read at the body's end."""
        self._around.append(loop.count)
        after = tuple(Let(f"{NEXT}{each.name}", each.next) for each in loop.carried)
        made = self.body((*loop.body, *after))
        self._around.pop()
        nexts = {e.name: e.value for e in made if isinstance(e, Let) and e.name.startswith(NEXT)}
        carried = tuple(replace(c, next=nexts[f"{NEXT}{c.name}"]) for c in loop.carried)
        inner = tuple(e for e in made if not isinstance(e, Let) or e.name not in nexts)
        return replace(loop, carried=carried, body=inner)

    def _marked(self, each: Statement) -> Statement:
        """A loop that is apart, or becomes so with updates in place of stores, told as such."""
        if not isinstance(each, Each) or each.carried or not stored(each.body):
            return each
        if apart(each, self._around):
            return replace(each, apart=True)
        other = replace(each, body=updated(each.body))
        if not apart(other, self._around):
            return each
        self._around.append(each.count)
        inner = tuple(self._marked(one) for one in other.body)
        self._around.pop()
        return replace(other, apart=True, body=inner)

    def _name(self) -> str:
        name = next(n for at in range(1 << 20) if (n := f"~m{at}") not in self._taken)
        self._taken.add(name)
        return name


def _names(body: Body) -> set[str]:
    return set[str]().union(*(names_in(each) for each in expressions_in(body)))


def _outermost(body: Body, taken: set[str]) -> tuple[tuple[Dim, ...], Body]:
    """Loops around everything that lie apart, as dimensions."""
    loops = list[Each]()
    while len(body) == 1 and isinstance(body[0], Each) and body[0].apart:
        outer = {each.index for each in loops}
        if names_in(body[0].count) & outer:  # a triangle's rows have no extent of their own
            break
        loops.append(body[0])
        body = body[0].body
    free = _free(
        taken | _names(body) | {e.index for e in statements_in(body) if isinstance(e, Each)}
    )
    known: dict[str, Expr] = {each.index: Name(next(free)) for each in reversed(loops)}
    dims = tuple(Dim(_name_of(known[each.index]), each.count) for each in loops)
    return dims, changed(body, lambda e: substitute(e, known))


def _name_of(place: Expr) -> str:
    assert isinstance(place, Name)
    return place.name


def _free(taken: set[str]) -> Iterator[str]:
    names = (*_PLACES, *(f"p{n}" for n in range(1 << 10)))
    return (name for name in names if name not in taken)
