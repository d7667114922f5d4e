"""Laws of folds: two that are nested are one where their indices are one place.

`sum(t < 256: sum(k < (n - t + 255)/256: f(256*k + t)))` is a sum over one index, and so is
`sum(t < n/16: sum(k < 16: f(16*t + k)))`. Sums of floats are taken to be associative here, as
kernels take them.
"""

from __future__ import annotations

from dataclasses import replace

from .expressions import (
    ONE,
    ZERO,
    Call,
    Carried,
    Expr,
    Fold,
    Name,
    Number,
    Sum,
    all_of,
    call,
    conjuncts,
    names_in,
    negation,
)
from .folding import combination
from .rewriting import substitute
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
    return _without_idle(fold, term)


def _first_of_both(outer: Fold, inner: Fold) -> Expr | None:
    """Where a single fold begins; None where the inner one's beginning counts every time."""
    mine, other = outer.carried[0].first, inner.carried[0].first
    if outer.kind in ("sum", "product"):
        neutral = 0 if outer.kind == "sum" else 1
        return mine if isinstance(other, Number) and other.value == neutral else None
    if outer.index in names_in(other):
        return None
    infinite = isinstance(mine, Number) and abs(mine.value) == float("inf")
    if infinite or mine == other:
        return other
    return call(outer.kind, mine, other, dtype=mine.dtype)


def _one_index(outer: Fold, inner: Fold, term: Expr) -> tuple[str, Expr, Expr] | None:
    """(index, count, term) of the single fold of two nested ones."""
    t, k = outer.index, inner.index
    strided = end_of_strided(inner.count, Name(t), outer.count)
    if strided is not None and t not in names_in(strided):
        found = as_one_place(term, t, k, outer.count)
        return None if found is None else (t, strided, found)
    if t in names_in(inner.count):
        return None
    both = product(inner.count, outer.count)
    found = as_one_place(term, k, t, inner.count)
    if found is not None:
        return k, both, found
    found = as_one_place(term, t, k, outer.count)
    return None if found is None else (t, both, found)


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
    """A sum of what is nothing from some index on ends there."""
    if fold.kind != "sum" or not isinstance(fold.carried[0].first, Number):
        return fold
    inner = zero_unless(term)
    if inner is None:
        return fold
    condition, value = inner
    kept, end = list[Expr](), None
    for each in conjuncts(condition):
        bound = _bound(each, fold.index)
        if bound is not None and end is None and _rounded_up(fold.count, bound):
            end = bound
        else:
            kept.append(each)
    if end is None:
        return fold
    rest = all_of(tuple(kept))
    zero = Number(0 if value.dtype == "int" else 0.0, value.dtype)
    following = call("select", rest, value, zero, dtype=value.dtype)
    one = fold.carried[0]
    return plain_fold("sum", fold.index, end, one.first, one.name, following)


def zero_unless(term: Expr) -> tuple[Expr, Expr] | None:
    """(condition, value) of a term that is zero where the condition does not hold; of a product of
    two such terms under one condition as well."""
    if not isinstance(term, Call):
        return None
    if term.op == "select":
        condition, yes, no = term.args
        if isinstance(no, Number) and no.value == 0:
            return condition, yes
        zero = isinstance(yes, Number) and yes.value == 0
        return (negation(condition), no) if zero else None
    if term.op == "mul":
        pair = [zero_unless(each) for each in term.args]
        if all(pair) and pair[0][0] == pair[1][0]:  # type: ignore[index]
            value = call("mul", pair[0][1], pair[1][1], dtype=term.dtype)  # type: ignore[index]
            return pair[0][0], value  # type: ignore[index]
    return None


def _bound(condition: Expr, index: str) -> Expr | None:
    """`n` of `index < n`."""
    if not isinstance(condition, Call) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    left, right = condition.args
    if left.dtype != "int":
        return None
    if condition.op in ("gt", "ge"):
        left, right = right, left
    found = coefficient(difference(left, right), index)
    if found is None or found[0] != ONE:
        return None
    bound = difference(ZERO, found[1])
    return total((bound, ONE)) if condition.op in ("le", "ge") else bound


def _rounded_up(count: Expr, bound: Expr) -> bool:
    """Whether a count is the bound rounded up to a multiple: `16*((n + 15)/16)`."""
    if not isinstance(count, Sum) or len(count.terms) != 1:
        return False
    (factors, number) = count.terms[0]
    if len(factors) != 1 or not isinstance(factors[0], Call) or factors[0].op != "div":
        return False
    divided, by = factors[0].args
    return by == Number(number) and divided == total((bound, Number(number - 1)))


def begun_anew(carried: Carried) -> Carried:
    """A value whose next is a fold that begins with it, as a sum of folds that begin with
    nothing."""
    inner = carried.next
    if not isinstance(inner, Fold) or inner.kind != "sum" or len(inner.carried) != 1:
        return carried
    one = inner.carried[0]
    me = Name(carried.name, carried.dtype)
    term = term_of(inner)
    if one.first != me or term is None or carried.name in names_in(term):
        return carried
    zero = Number(0 if carried.dtype == "int" else 0.0, carried.dtype)
    own = merged(replace(inner, carried=(replace(one, first=zero),)))
    following = (
        total((me, own)) if carried.dtype == "int" else call("add", me, own, dtype=carried.dtype)
    )
    return replace(carried, next=following)
