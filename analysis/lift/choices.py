"""Statements that store either of two values, as one that chooses."""

from __future__ import annotations

from .expressions import Load, all_of, call, conjuncts, negation, walk
from .statements import Statement, Store, When


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
