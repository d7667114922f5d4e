"""What was in an element before it is stored, as in `c = alpha * sum + beta * c`: read where it is
needed, as the thread that stores an element is the only one that reads it."""

from __future__ import annotations

from dataclasses import replace

from ......analysis.lift.expressions import Expr, Fold, Load, names_in, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Let, Store
from ..parts.plain import Plain


def with_old_values(plain: Plain) -> Plain:
    """The kernel with the old value of its one store in the value itself, where it is the element
    that is stored and no fold hangs on it; else as it is."""
    match plain.lifted.body:
        case (Let(name, Load(array, index) as old), Store(stored, place, value)) if (
            array,
            index,
        ) == (stored, place) and not _folded(name, value):
            store = Store(stored, place, substitute(value, {name: old}))
            return replace(plain, lifted=replace(plain.lifted, body=(store,)))
        case _:
            return plain


def _folded(name: str, value: Expr) -> bool:
    return any(name in names_in(each) for each in walk(value) if isinstance(each, Fold))
