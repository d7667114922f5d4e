"""Blocks of values: an expression over an index along each axis, `#0`, `#1` ...

A value that is not known as an expression yet, such as what a loop carries, is a name at a place:
`at(~1, #0, #1)`. Moving a block's axes moves the place; what the name stands for is put in later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..expressions import Call, Expr, Name, Pointer, Unreadable, walk
from ..rewriting import rebuilt, substitute

THREADS = ("tid.x", "tid.y", "tid.z")
"""the places of a block while a kernel is read, the last axis along x, as those of threads"""


@dataclass(frozen=True)
class Block:
    """A value of a kernel; a scalar has no axes."""

    expr: Expr
    shape: tuple[int, ...] = ()


def axis_name(axis: int) -> str:
    """The name of the index along an axis."""
    return f"#{axis}"


def axes_of(rank: int) -> tuple[Name, ...]:
    """The indices along all axes."""
    return tuple(Name(axis_name(axis)) for axis in range(rank))


def moved(expr: Expr, axes: Mapping[int, Expr]) -> Expr:
    """The expression with others in place of the indices along axes."""
    return substitute(expr, {axis_name(axis): other for axis, other in axes.items()})


def named(value: Expr, name: str, rank: int) -> Expr:
    """A name at every place of a block, in place of a value; of an address, for its offset."""
    dtype = value.dtype
    mine: Expr = Name(name, dtype)
    if rank:
        mine = Call("at", (mine, *axes_of(rank)), dtype)
    return Pointer(value.array, mine) if isinstance(value, Pointer) else mine


def applied(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """The expression with what names stand for, at the places where they stand."""
    match expr:
        case Call("at", (Name(name), *places)) if name in known:
            places = [applied(each, known) for each in places]
            return moved(known[name], dict(enumerate(places)))
        case Name(name):
            return known.get(name, expr)
        case _:
            return rebuilt(expr, lambda part: applied(part, known))


def unplaced(expr: Expr, places: Sequence[Expr] = ()) -> Expr:
    """The expression with bare names, where each stands at its own place: along the axes, or at
    `places` (of the last axes). Raises Unreadable."""
    match expr:
        case Call("at", (Name() as name, *there)):
            own = tuple(places)[-len(there) :] if places else axes_of(len(there))
            if tuple(there) != own:
                raise Unreadable("a block that is carried or written, and moved")
            return name
        case _:
            return rebuilt(expr, lambda part: unplaced(part, places))


def at_threads(expr: Expr, rank: int) -> Expr:
    """An expression over the axes of a block as one over threads. Raises Unreadable."""
    threads = {axis_name(n): Name(THREADS[rank - 1 - n]) for n in range(rank)}
    found = substitute(expr, threads)
    if any(isinstance(each, Name) and each.name.startswith("#") for each in walk(found)):
        raise Unreadable("a block of other axes than what it is stored to")
    return found
