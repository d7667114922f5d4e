"""The rows of a program as the first axis of a tile: one statement does them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ...shared.affine import Form
from ...shared.edits import Edit
from .masks import implied
from .nodes import walk
from .row_copies import Place
from .rows import Load, Rows
from .source import argument, is_call
from .texts import primary
from .wide_copies import WideCopies

ELEMENTWISE = (
    *("program_id", "arange", "load", "store", "where", "cdiv", "minimum", "maximum", "clamp"),
    *("abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "fma", "sigmoid"),
)
"""what gives each element of a tile what it gave that of a row"""


@dataclass(frozen=True)
class TileCopies(WideCopies):
    """One copy of the body, whose row is a column of `tall` row numbers; all loads come first.

    Masks are as they were, within the rows. Build it with `many` 1.
    """

    tall: int = 1

    def _first_rows(self) -> Iterator[str]:
        at = self._row_statement
        numbers = f"{self.rows.number} * {self.tall} + tl.arange(0, {self.tall})"
        first = f"{self._row} = ({numbers})[:, None]"
        if at is None:
            yield first
        else:
            yield from self._with_comments(at, [first])

    def _conditions(self, place: Place) -> tuple[Form | None, ...]:
        told, inside = super()._conditions(place), self._inside(place[1])
        return told if implied(inside, told) else (*told, inside)

    def _guarded(self, mask: str, row: int) -> str:
        guard = f"{self._row} < {primary(self.rows.count)}"
        return f"{primary(mask)} & ({guard})" if mask else guard

    def _within(self, load: Load, row: int) -> str:
        """The last rows of a tile may be no rows of the array: those above them are to be."""
        mask = super()._within(load, row)
        if row > 0:
            return mask
        return f"{mask} & ({self._row} - {-row} < {primary(self.rows.count)})"

    def _guards(self, row: int) -> tuple[Form, ...]:
        return (*super()._guards(row), self._inside(row))

    def _edits(
        self, node: ast.AST, row: int, instead: dict[ast.expr, str], *, made: bool
    ) -> Iterator[Edit]:
        if isinstance(node, ast.Call) and is_call(node, "arange"):
            source = self.rows.kernel.source
            yield source.replace(node, f"{source.text(node)}[None, :]")
        else:
            yield from super()._edits(node, row, instead, made=made)


def no_tile(rows: Rows) -> str | None:
    """Why a kernel of rows cannot work on tiles as it is."""
    nodes = list(walk(rows.kernel.function))
    if any(isinstance(n, ast.Subscript) for s in rows.kernel.body for n in walk(s)):
        return "it works on tiles already"
    calls = (n for s in rows.kernel.body for n in walk(s) if isinstance(n, ast.Call))
    if not all(is_call(c, *ELEMENTWISE) or _converts(c) for c in calls):
        return "not all that it computes is computed element by element"
    if sum(is_call(n, "arange") for n in nodes) != 1:
        return "it numbers its lanes more than once"
    for load in rows.loads:
        if load.address is None:
            return "where it loads is no sum of rows and columns"
        if rows.number not in load.address.names:
            return "it loads what is the same in all rows"
    if not all(_goes_with_row(rows, s) for s in rows.kernel.body if isinstance(s, ast.Expr)):
        return "where it stores is no sum of rows and columns"
    return None


def _goes_with_row(rows: Rows, store: ast.Expr) -> bool:
    assert isinstance(store.value, ast.Call)
    pointer = argument(store.value, 0, "pointer")
    form = None if pointer is None else rows.form(pointer, store)
    return form is not None and rows.number in form.names


def _converts(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "to"
