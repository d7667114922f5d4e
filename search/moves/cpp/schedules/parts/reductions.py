"""Folds as sums and extremes over one or several loops."""

from __future__ import annotations

from dataclasses import dataclass

from ......analysis.lift.expressions import Call, Expr, Fold, Load, Name, Number, names_in, walk
from ......analysis.lift.folding import combination
from ......analysis.lift.sums import coefficient

SIGNS = {"sum": "+", "product": "*"}
KINDS = ("sum", "product", "max", "min")


@dataclass(frozen=True)
class Reduction:
    """A fold whose terms may be combined in any order, but for rounding."""

    fold: Fold
    kind: str
    loops: tuple[tuple[str, Expr], ...]
    """index and count of each, the outermost first"""
    first: Expr
    term: Expr
    nan_free: bool = False
    """of extremes: whether a NaN never wins, as with `fmax`"""


def reduction_of(fold: Fold) -> Reduction | None:
    """The fold as a reduction; None where the order of its iterations counts."""
    if len(fold.carried) != 1:
        return None
    one = fold.carried[0]
    if isinstance(one.next, Fold) and len(one.next.carried) == 1:  # a loop that goes on in another
        inner = reduction_of(one.next)
        if inner is None or inner.first != Name(one.name, one.dtype):
            return None
        if one.name in names_in(inner.term) or one.name in names_in(inner.loops[0][1]):
            return None
        loops = ((fold.index, fold.count), *inner.loops)
        return Reduction(fold, inner.kind, loops, one.first, inner.term, inner.nan_free)
    found = combination(one)
    if found is None or found[0] not in KINDS or one.name in names_in(found[1]):
        return None
    if one.dtype not in ("f32", "f64") and not (one.dtype == "int" and found[0] in SIGNS):
        return None
    plain = isinstance(one.next, Call) and one.next.op in ("max", "min")
    loops = ((fold.index, fold.count),)
    return Reduction(fold, found[0], loops, one.first, found[1], plain)


def neutral(reduction: Reduction) -> Number:
    """What changes nothing."""
    dtype = reduction.fold.dtype
    value = {"sum": 0.0, "product": 1.0, "max": -float("inf"), "min": float("inf")}[reduction.kind]
    return Number(int(value) if dtype == "int" else value, dtype)


def step(kind: str, name: str, value: str) -> str:
    """A statement that combines a variable with a value."""
    if kind in SIGNS:
        return f"{name} {SIGNS[kind]}= {value};"
    return f"{name} = {value} {'>' if kind == 'max' else '<'} {name} ? {value} : {name};"


def strides(expr: Expr, name: str) -> list[Expr | None]:
    """By how many elements each load in an expression moves with a name; None: not evenly."""
    loads = [each for each in walk(expr) if isinstance(each, Load)]
    found = [coefficient(load.index, name) for load in loads]
    return [None if each is None else each[0] for each in found]
