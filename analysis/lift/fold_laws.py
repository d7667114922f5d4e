"""Laws of folds: two that are nested are one where their indices are one place.

`sum(t < 256: sum(k < (n - t + 255)/256: f(256*k + t)))` is a sum over one index, and so is
`sum(t < n/16: sum(k < 16: f(16*t + k)))`. Sums of floats are taken to be associative here, as
kernels take them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .expressions import (
    FALSE,
    ONE,
    TRUE,
    Call,
    Carried,
    Expr,
    Fold,
    Name,
    Number,
    Sum,
    call,
    conjuncts,
    names_in,
    negation,
    parts,
)
from .folding import combination, neutral
from .rewriting import rebuilt, substitute
from .sums import coefficient, difference, negated, product, total

OPERATIONS = {"sum": "add", "product": "mul", "max": "max", "min": "min"}


def plain_fold(kind: str, index: str, count: Expr, first: Expr, name: str, term: Expr) -> Fold:
    """A fold of one value by a combiner."""
    me = Name(name, term.dtype)
    following = (
        total((me, term))
        if kind == "sum" and term.dtype == "int"
        else call(OPERATIONS[kind], me, term, dtype=term.dtype)
    )
    return Fold(kind, index, count, (Carried(name, term.dtype, first, following),), 0)


def term_of(fold: Fold) -> Expr | None:
    """What an iteration contributes, of a fold of one value by a combiner."""
    if fold.kind not in OPERATIONS or len(fold.carried) != 1:
        return None
    found = combination(fold.carried[0])
    return None if found is None else found[1]


def merged(fold: Fold) -> Expr:
    """The fold with one that is all of its term as a single one, and without idle iterations."""
    term = term_of(fold)
    if term is None:
        return fold
    if isinstance(term, Fold) and term.kind == fold.kind:
        inner = term_of(term)
        first = _first_of_both(fold, term)
        if inner is not None and first is not None:
            joined = _one_index(fold, term, inner)
            if joined is not None:
                index, count, single = joined
                name = fold.carried[0].name
                return merged(plain_fold(fold.kind, index, count, first, name, single))
            other = _other_way_round(fold, term, inner)
            if other is not None:
                return other
    return _without_idle(fold, term)


def _first_of_both(outer: Fold, inner: Fold) -> Expr | None:
    """Where a single fold begins; None where the inner one's beginning counts every time."""
    mine, other = outer.carried[0].first, inner.carried[0].first
    if outer.kind in ("sum", "product"):
        nothing = 0 if outer.kind == "sum" else 1
        return mine if isinstance(other, Number) and other.value == nothing else None
    if outer.index in names_in(other):
        return None
    infinite = isinstance(mine, Number) and abs(mine.value) == float("inf")
    if infinite or mine == other:
        return other
    return call(outer.kind, mine, other, dtype=mine.dtype)


def _other_way_round(outer: Fold, middle: Fold, inner: Expr) -> Expr | None:
    """Three nested folds as two, where the outer and the inner one go over one place and the middle
    one lies between them: threads that walk a row of each plane. None where they do not."""
    name, kind = outer.carried[0].name, outer.kind
    begins = {each.carried[0].first for each in (outer, middle)}
    if not isinstance(inner, Fold) or inner.kind != kind or outer.index in names_in(middle.count):
        return None
    (nothing, *others) = begins | {inner.carried[0].first}
    if others or not isinstance(nothing, Number):
        return None
    near = merged(plain_fold(kind, outer.index, outer.count, nothing, name, inner))
    term = term_of(near) if isinstance(near, Fold) else None
    if term is None or (isinstance(term, Fold) and term.kind == kind):
        return None
    return merged(
        plain_fold(kind, middle.index, middle.count, nothing, middle.carried[0].name, near)
    )


def _one_index(outer: Fold, inner: Fold, term: Expr) -> tuple[str, Expr, Expr] | None:
    """(index, count, term) of the single fold of two nested ones."""
    t, k = outer.index, inner.index
    strided = end_of_strided(inner.count, Name(t), outer.count)
    if strided is not None and t not in names_in(strided):
        found = as_one_place(term, t, k, outer.count)
        return None if found is None else (t, strided, found)
    cut = _cut_short(outer, inner)
    if cut is not None:
        width, end = cut
        found = as_one_place(term, k, t, width)
        return None if found is None else (k, end, found)
    if t in names_in(inner.count):
        return None
    if inner.count == ONE:
        return t, outer.count, substitute(term, {k: Number(0)})
    if outer.count == at_most_once(inner.count) and t not in names_in(term):
        return k, inner.count, term
    both = product(inner.count, outer.count)
    found = as_one_place(term, k, t, inner.count)
    if found is not None:
        return k, both, found
    found = as_one_place(term, t, k, outer.count)
    return None if found is None else (t, both, found)


def at_most_once(size: Expr) -> Expr:
    """How many blocks there are of what fits in one: none of nothing."""
    return Call("min", (size, ONE), "int")


def _cut_short(outer: Fold, inner: Fold) -> tuple[Expr, Expr] | None:
    """(16, n) of blocks of 16 of which the last is shorter: ceil(n / 16) of min(n - 16*t, 16)."""
    if not isinstance(inner.count, Call) or inner.count.op != "min":
        return None
    left, width = inner.count.args
    if not isinstance(width, Number):
        return None
    end = total((left, product(width, Name(outer.index))))
    fits = outer.index not in names_in(end) and rounded_up(product(outer.count, width), end)
    return (width, end) if fits else None


def as_one_place(term: Expr, near: str, far: str, stride: Expr) -> Expr | None:
    """A term of `near + stride*far` over that place, named like `near`; None where it is of
    more."""
    instead = difference(Name(near), product(stride, Name(far)))
    made = substitute(term, {near: instead})
    return None if far in names_in(made) else made


def end_of_strided(count: Expr, start: Expr, stride: Expr) -> Expr | None:
    """`n` where a count is ceil((n - start) / stride)."""
    if stride == ONE:
        return total((count, start))
    if isinstance(count, Call) and count.op == "div" and count.args[1] == stride:
        return total((count.args[0], ONE, negated(stride), start))
    return None


def _without_idle(fold: Fold, term: Expr) -> Fold:
    """A fold whose term is nothing from some index on ends there: the rest of a last tile, or what
    a mask leaves out."""
    one = fold.carried[0]
    if fold.kind not in _NEUTRAL or not isinstance(one.first, Number):
        return fold
    for condition in _conditions_in(term):
        end = bound_of(condition, fold.index)
        if end is None or fold.index in names_in(end):
            continue
        if rounded_up(fold.count, end):
            count = end
        elif isinstance(fold.count, Number):
            count = end if end == fold.count else call("min", end, fold.count, dtype="int")
        else:
            continue
        nothing = dead(term, condition)
        again = (
            fold.kind != "sum" and nothing == one.first.value
        )  # of an extreme, what it began with
        rest = where(term, condition)
        if nothing == _NEUTRAL[fold.kind] or again:
            return plain_fold(fold.kind, fold.index, count, one.first, one.name, rest)
        if nothing == 0.0 and fold.kind == "max" and never_negative(rest):
            zero = Number(max(0.0, one.first.value), one.dtype)
            return plain_fold(fold.kind, fold.index, count, zero, one.name, rest)
    return fold


_NEUTRAL = {"sum": 0.0, "max": -math.inf, "min": math.inf}


def _conditions_in(term: Expr) -> list[Expr]:
    """The conditions of choices within a term, in parts, those of folds within it left out."""
    found, pending = dict[Expr, None](), [term]
    while pending:
        here = pending.pop()
        if isinstance(here, Call) and here.op == "select":
            for condition in (here.args[0], negation(here.args[0])):
                found |= dict.fromkeys(conjuncts(condition))
        if not isinstance(here, Fold):
            pending += parts(here)
    return list(found)


def where(expr: Expr, condition: Expr) -> Expr:
    """The expression where a condition holds."""
    if isinstance(expr, Call) and expr.dtype == "bool":
        mine, other, against = (excess(e) for e in (expr, condition, negation(condition)))
        if expr == condition or (mine is not None and mine == other):
            return TRUE
        if expr == negation(condition) or (mine is not None and mine == against):
            return FALSE
    return rebuilt(expr, lambda part: where(part, condition))


def dead(expr: Expr, condition: Expr) -> float | None:
    """The number that an expression is where a condition does not hold, whatever else is the case;
    None where it is none. Values of arrays count as finite."""
    return _number(where(expr, negation(condition)))


def _number(expr: Expr) -> float | None:
    if isinstance(expr, Number):
        return float(expr.value)
    if not isinstance(expr, Call):
        return None
    args = [_number(each) for each in expr.args]
    infinite = [each for each in args if each is not None and math.isinf(each)]
    match expr.op:
        case "select" if args[0] is not None:
            return args[1] if args[0] else args[2]
        case "select":
            return args[1] if args[1] == args[2] else None
        case "gt" | "lt" | "ne" | "ge" | "le" | "eq" if None not in args and args[0] == args[1]:
            return float(expr.op in ("ge", "le", "eq"))
        case "cast":
            return args[0]
        case "mul" | "div" if 0.0 in args[: 1 + (expr.op == "mul")]:
            return 0.0
        case "add" | "sub" if all(each == 0.0 for each in args):
            return 0.0
        case "exp" | "exp2" if args[0] == -math.inf:
            return 0.0
        case "add" | "sub" if infinite and args[0] == infinite[0]:
            return infinite[0]
        case op if None not in args and op in _OF_NUMBERS:
            return float(_OF_NUMBERS[op](*args))
        case _:
            return None


_OF_NUMBERS: Mapping[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg,
    "abs": abs, "max": max, "min": min,
}  # fmt: skip


def never_negative(expr: Expr) -> bool:
    """Whether a float surely is none below zero: magnitudes, squares, powers of two."""
    match expr:
        case Number(value):
            return value >= 0
        case Call("abs" | "exp" | "exp2" | "fast_exp" | "fast_exp2"):
            return True
        case Call("mul", (left, right)):
            return left == right or (never_negative(left) and never_negative(right))
        case Call("max", args):
            return any(map(never_negative, args))
        case Call("add" | "min" | "cast" | "sqrt", args):
            return all(map(never_negative, args))
        case Call("select", (_, yes, no)):
            return never_negative(yes) and never_negative(no)
        case _:
            return False


def excess(condition: Expr) -> Expr | None:
    """`e` of a comparison of integers that says the same as `e <= 0`."""
    if not isinstance(condition, Call) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    left, right = condition.args
    if left.dtype != "int":
        return None
    if condition.op in ("gt", "ge"):
        left, right = right, left
    strict = condition.op in ("lt", "gt")
    return total((difference(left, right), ONE)) if strict else difference(left, right)


def bound_of(condition: Expr, index: str) -> Expr | None:
    """`n` of `index < n`."""
    over = excess(condition)
    found = None if over is None else coefficient(over, index)
    if found is None or found[0] != ONE:
        return None
    return difference(ONE, found[1])


def rounded_up(count: Expr, bound: Expr) -> bool:
    """Whether a count is the bound rounded up to a multiple: `16*((n + 15)/16)`."""
    if not isinstance(count, Sum) or len(count.terms) != 1:
        return False
    (factors, number) = count.terms[0]
    if len(factors) != 1 or not isinstance(factors[0], Call) or factors[0].op != "div":
        return False
    divided, by = factors[0].args
    return by == Number(number) and divided == total((bound, Number(number - 1)))


def begun_anew(carried: Carried) -> Carried:
    """A value whose next is a fold that begins with it, as one that takes in folds that begin with
    nothing."""
    inner = carried.next
    if not isinstance(inner, Fold) or inner.kind not in OPERATIONS or len(inner.carried) != 1:
        return carried
    one, nothing = inner.carried[0], neutral(inner.kind, carried.dtype)
    me = Name(carried.name, carried.dtype)
    term = term_of(inner)
    if one.first != me or term is None or nothing is None or carried.name in names_in(term):
        return carried
    own = merged(replace(inner, carried=(replace(one, first=nothing),)))
    if inner.kind == "sum" and carried.dtype == "int":
        return replace(carried, next=total((me, own)))
    return replace(carried, next=call(OPERATIONS[inner.kind], me, own, dtype=carried.dtype))
