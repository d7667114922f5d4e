"""Values of variables where paths meet or a loop comes back; addresses are their offsets there."""

from __future__ import annotations

from .expressions import Call, Expr, Name, Pointer, call
from .frames import Values
from .machine import as_type


def like(value: Expr, name: str) -> Expr:
    """A name in place of a value; of an address, for its offset."""
    return (
        Pointer(value.array, Name(name)) if isinstance(value, Pointer) else Name(name, value.dtype)
    )


def bare(value: Expr) -> Expr:
    """The value; of an address its offset."""
    return value.offset if isinstance(value, Pointer) else value


def as_pointer(model: Expr, value: Expr) -> Expr:
    """An address in the array of another where that is one."""
    return Pointer(model.array, value) if isinstance(model, Pointer) else value


def same_kind(one: Expr, other: Expr) -> bool:
    """Whether two values may be one variable's."""
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        return one.array == other.array
    return (
        not isinstance(one, Pointer) and not isinstance(other, Pointer) and one.dtype == other.dtype
    )


def merge(condition: Expr, yes: Values, no: Values, into: Values) -> None:
    """The values where two paths meet; those that only one has are unknown."""
    into.clear()
    for key in yes.keys() & no.keys():
        one, other = yes[key], no[key]
        if one is other or one == other:
            into[key] = one
        elif same_kind(one, other):
            chosen = call("select", condition, bare(one), bare(other), dtype=bare(one).dtype)
            into[key] = as_pointer(one, chosen)
        elif not isinstance(one, Pointer) and not isinstance(other, Pointer):
            into[key] = Call("select", (condition, one, as_type(other, one.dtype)), one.dtype)
