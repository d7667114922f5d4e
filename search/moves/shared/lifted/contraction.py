"""Contractions: a fold over what one place of a row gives with one place of a column.

`y[.., i, .., j, ..] = epilogue(fold over k of term(left(i, k), right(j, k)))`: products of matrices
in any layout and batch, distances, products over other pairs of operations. Whatever of the term
hangs on `i` alone is the left value, on `j` alone the right one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .....analysis.lift.expressions import (
    ONE,
    Call,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    names_in,
    parts,
    walk,
)
from .....analysis.lift.rewriting import substitute
from .....analysis.lift.statements import Body, Dim, Store, changed
from .....analysis.lift.sums import coefficient
from .c_expressions import Unwritable, folds_of
from .computed import Computed
from .flat import all_dims, joined, replaced
from .names import Names
from .row_program import Reduction, reduction_of
from .two_places import with_rows

KINDS = ("sum", "product", "max", "min")
_NOTHING = {"sum": (Number(0.0, "f32"), "add"), "product": (Number(1.0, "f32"), "mul")}
MOST_VALUES = 2
"""of a side: each has a tile of shared memory"""


@dataclass(frozen=True)
class Contraction:
    """What a kernel computes, with its own name for each dimension."""

    rows: Dim
    columns: Dim
    """its neighbours lie side by side in the output"""
    others: tuple[Dim, ...]
    """the outermost first; a block has one place of each"""
    reduction: Reduction
    left: tuple[Expr, ...]
    """values over `rows` and COLUMN, of the reduction's term"""
    right: tuple[Expr, ...]
    body: Body
    """what is stored; the reduction's fold stands in it"""


def contraction(plain: Computed, names: Names) -> Contraction:
    """The contraction of a lift. Raises Unwritable for a kernel that is none."""
    dims, body = all_dims(plain)
    dims, body = with_rows(dims, joined(body), plain, names)
    if len(body) != 1 or not isinstance(body[0], Store):
        raise Unwritable("it stores more than one value at a place, or under a condition")
    store = body[0]
    folds = folds_of(store.value)
    if len(folds) != 1 or any(isinstance(e, Fold) for e in walk(store.index)):
        raise Unwritable("it does not fold once for each place")
    reduction = reduction_of(folds[0])
    if reduction is None or reduction.kind not in KINDS or reduction.fold.dtype != "f32":
        raise Unwritable("what it folds is no sum, product or extreme of float32")
    if any(isinstance(e, Fold) for e in walk(reduction.term)):
        raise Unwritable("a fold within a fold")
    own = {d.name for d in dims}
    bounds = (reduction.columns, reduction.start, *(d.extent for d in dims))
    if any(names_in(e) & own for e in bounds):
        raise Unwritable("how much is folded hangs on the place")
    return _named(_sided(dims, body, store, reduction), names)


def begun_with_nothing(found: Contraction) -> Contraction:
    """The same, but sums and products begin with 0 and 1: what they begin with comes last, once,
    so that no place of the output is looked at before its end, and blocks can share a fold."""
    reduction, nothing = found.reduction, _NOTHING.get(found.reduction.kind)
    if nothing is None or reduction.first == nothing[0]:
        return found
    whole = Call(nothing[1], (reduction.first, reduction.fold), "f32")
    body = changed(
        found.body, lambda e: replaced(e, lambda each: whole if each == reduction.fold else None)
    )
    return replace(found, reduction=replace(reduction, first=nothing[0]), body=body)


def _sided(dims: tuple[Dim, ...], body: Body, store: Store, reduction: Reduction) -> Contraction:
    """The first pair of dimensions that the term falls apart for."""
    reasons = list[str]()
    for columns in dims:
        found = coefficient(store.index, columns.name)
        if found is None or found[0] != ONE:
            continue
        for rows in reversed(dims):
            if rows == columns:
                continue
            sides = _Sides(rows.name, columns.name)
            try:
                sides.take(reduction.term)
                sides.check()
            except Unwritable as error:
                reasons.append(str(error))
                continue
            others = tuple(d for d in dims if d not in (rows, columns))
            left, right = tuple(sides.left), tuple(sides.right)
            return Contraction(rows, columns, others, reduction, left, right, body)
    raise Unwritable(reasons[0] if reasons else "places do not lie side by side in what it stores")


def _named(found: Contraction, names: Names) -> Contraction:
    """The same under names that a source may have."""
    dims = {found.rows: "row", found.columns: "column"}
    made = {d: Dim(names.fresh(dims.get(d, d.name)), d.extent) for d in (*dims, *found.others)}
    known: dict[str, Expr] = {old.name: Name(new.name) for old, new in made.items()}

    def renamed(expr: Expr) -> Expr:
        return substitute(expr, known)

    reduction = found.reduction
    return Contraction(
        made[found.rows],
        made[found.columns],
        tuple(made[d] for d in found.others),
        replace(
            reduction,
            fold=renamed(reduction.fold),
            first=renamed(reduction.first),
            term=renamed(reduction.term),
        ),
        tuple(map(renamed, found.left)),
        tuple(map(renamed, found.right)),
        changed(found.body, renamed),
    )


class _Sides:
    """What of a term hangs on rows alone, and what on columns alone."""

    def __init__(self, rows: str, columns: str) -> None:
        self._rows, self._columns = rows, columns
        self.left, self.right = dict[Expr, None](), dict[Expr, None]()

    def take(self, expr: Expr) -> None:
        """Sort the largest parts that hang on one side. Raises Unwritable."""
        if not any(isinstance(each, Load) for each in walk(expr)):
            return
        used = names_in(expr) & {self._rows, self._columns}
        if len(used) < 2 and expr.dtype == "f32":
            side = self.right if used == {self._columns} else self.left
            side[expr] = None
        elif isinstance(expr, Call) and expr.op != "select":
            for each in parts(expr):
                self.take(each)
        else:
            raise Unwritable("a value hangs on rows and columns at once")

    def check(self) -> None:
        """Raises Unwritable where a side has nothing that is its own, or too much."""
        for side, name in ((self.left, self._rows), (self.right, self._columns)):
            if not any(name in names_in(each) for each in side):
                raise Unwritable("what it folds does not hang on rows and on columns")
            if len(side) > MOST_VALUES:
                raise Unwritable("a side has too many values to be held")
