"""Sizes that are no number of a call: `n - k + 1` places of a window, `height // k` of tiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..expressions import Call, Expr, Name, Number, Sum, Unreadable, names_in, walk
from ..interpreting import value_of
from ..statements import Lifted
from ..sums import terms_of
from .counting import size_text
from .indexing import accessed

MOST = 6
"""of one kernel"""


def compounds(lifted: Lifted) -> Mapping[str, Expr]:
    """Differences and quotients of the kernel's integers that its dimensions and indices are made
    of, by their texts in parentheses."""
    integers = {a.name for a in lifted.arguments if not a.array and "int" in a.dtype}
    found = dict[str, Expr]()
    for each in _parts(lifted):
        if not names_in(each) or not names_in(each) <= integers or len(found) >= MOST:
            continue
        try:
            text = f"({size_text(each)})"
        except Unreadable:
            continue
        if "//" in text or " - " in text or text.startswith("(-"):
            found.setdefault(text, each)
    return found


def _parts(lifted: Lifted) -> Iterator[Expr]:
    exprs = [*(each.extent for each in lifted.dims), *(index for _, index in accessed(lifted))]
    for expr in exprs:
        for part in walk(expr):
            match part:
                case Call("div", (_, Name() | Number())):
                    yield part
                case Sum():
                    yield part
                    for factors in terms_of(part):
                        yield from (each for each in factors if isinstance(each, Sum))
                case _:
                    pass


def valued(found: Mapping[str, Expr], sizes: Mapping[str, int]) -> dict[str, int]:
    """The values of compounds where the integers have these; those that are not positive left
    out."""
    names = {name: np.asarray(value) for name, value in sizes.items()}
    made = dict[str, int]()
    for text, expr in found.items():
        if names_in(expr) <= names.keys() and (value := int(value_of(expr, names))) > 0:
            made[text] = value
    return made
