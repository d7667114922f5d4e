"""Values that a loop carries beside an extreme, as folds of their own.

A sum of exponentials under the maximum so far, rescaled whenever that grows, is the sum under the
whole maximum, whatever the order and however many partial sums are joined:
`s * exp(m - n) + exp(x - n)` leaves `sum(exp(x - max(x)))`, and so do sums of blocks, and of lanes
that are scaled to the greatest of their maxima in the end. A sum that stays what it was as long as
the maximum is -inf is the same one, but where that is so in the end. An extreme that lanes or
blocks kept with its place is one fold of both (`extremes.py`).
"""

from __future__ import annotations

import math
from dataclasses import replace

from .....analysis.lift.expressions import Call, Carried, Expr, Fold, Name, Number, call, names_in
from .....analysis.lift.fold_laws import merged, plain_fold, term_of
from .....analysis.lift.folding import combination
from .....analysis.lift.rewriting import rebuilt, substitute
from .....analysis.lift.statements import Body, changed
from .extremes import PLACES

_EXPONENTIALS = ("exp", "fast_exp", "exp2", "fast_exp2")


def with_plain_folds(body: Body) -> Body:
    """Statements with folds of one value each in place of running maxima with sums under them, and
    one fold in place of extremes of lanes."""
    return changed(body, _plain)


def _plain(expr: Expr) -> Expr:
    made = rebuilt(expr, _plain)
    if not isinstance(made, Fold):
        return made
    for law in (_without_running_maximum, _of_scaled_sums, *PLACES):
        found = law(made)
        if found is not None:
            return found
    return made


def _without_running_maximum(fold: Fold) -> Expr | None:
    """Of a maximum and a sum under it that are carried along together."""
    if len(fold.carried) != 2:
        return None
    for scaled, greatest in (fold.carried, fold.carried[::-1]):
        best = combination(greatest)
        if best is None or best[0] != "max" or scaled.name in names_in(greatest.next):
            continue
        guarded = _behind_guard(scaled, greatest)
        found = _added(guarded or scaled, greatest)
        if found is None:
            continue
        most = merged(Fold("max", fold.index, fold.count, (greatest,), 0))
        if fold.carried[fold.which] == greatest:
            return most
        added, op = found
        k = Name(f"{fold.index}s")
        here = {fold.index: k}
        term = _under(substitute(added, here), substitute(greatest.next, here), most)
        if term is None or names_in(term) & {scaled.name}:
            continue
        begun = _begun(scaled, greatest, most, op)
        made = merged(plain_fold("sum", k.name, fold.count, begun, scaled.name, term))
        return made if guarded is None else _unless_empty(most, scaled.first, made)
    return None


def _behind_guard(scaled: Carried, greatest: Carried) -> Carried | None:
    """A sum that is what it was where the next maximum is -inf, by what it is elsewhere."""
    match scaled.next:
        case Call("select", (Call("eq", pair), Name(same), following)) if same == scaled.name:
            if greatest.next in pair and Number(-math.inf, greatest.dtype) in pair:
                return replace(scaled, next=following)
        case _:
            pass
    return None


def _unless_empty(most: Expr, empty: Expr, total: Expr) -> Expr:
    nothing = call("eq", most, Number(-math.inf, most.dtype), dtype="bool")
    return Call("select", (nothing, empty, total), total.dtype)


def _begun(scaled: Carried, greatest: Carried, most: Expr, op: str) -> Expr:
    """What a sum began with, under the maximum in the end."""
    first, kind = scaled.first, scaled.dtype
    if isinstance(first, Number) and first.value == 0:
        return first
    less = Call("sub", (greatest.first, most), kind)
    return Call("mul", (first, Call(op, (less,), kind)), kind)


def _added(scaled: Carried, greatest: Carried) -> tuple[Expr, str] | None:
    """(what an iteration adds, its exponential) of `s * exp(m - n) + added` with `n` the next m."""
    kind, following = scaled.dtype, scaled.next
    mine, most = Name(scaled.name, kind), Name(greatest.name, kind)
    for op in _EXPONENTIALS:
        before = Call(op, (Call("sub", (most, greatest.next), kind),), kind)
        for pair in ((mine, before), (before, mine)):
            kept = Call("mul", pair, kind)
            match following:
                case Call("add", (one, other)) if kept in (one, other):
                    return (other if one == kept else one), op
                case Call("fma", (left, right, added)) if (left, right) == pair:
                    return added, op
                case _:
                    pass
    return None


def _under(added: Expr, old: Expr, new: Expr) -> Expr | None:
    """What is added with exponentials under another maximum; None where it is not made of them."""
    kind = added.dtype
    match added:
        case Call(op, (Call("sub", (value, most)),)) if op in _EXPONENTIALS and most == old:
            return Call(op, (Call("sub", (value, new), kind),), kind)
        case Call("select", (condition, yes, Number(0))):
            inner = _under(yes, old, new)
            return inner and replace(added, args=(condition, inner, added.args[2]))
        case Call("mul", (left, right)):
            for at, side in enumerate((left, right)):
                inner = _under(side, old, new)
                if inner is not None:
                    return replace(added, args=(left, inner) if at else (inner, right))
            return None
        case Fold("sum", index, count, (one,)):
            term = term_of(added)
            inner = None if term is None else _under(term, old, new)
            if inner is None or one.first != Number(0.0, kind):
                return None
            return merged(plain_fold("sum", index, count, one.first, one.name, inner))
        case _:
            return None


def _of_scaled_sums(fold: Fold) -> Expr | None:
    """`sum(lanes: s * exp(m - top))` of sums under the maximum of each lane, as a sum under `top`
    of everything."""
    term = term_of(fold) if fold.kind == "sum" else None
    if not isinstance(term, Call) or term.op != "mul":
        return None
    for inner, scale in (term.args, term.args[::-1]):
        match scale:
            case Call(op, (Call("sub", (mine, top)),)) if op in _EXPONENTIALS:
                pass
            case _:
                continue
        match inner:  # of a lane without elements nothing, which is scaled by nothing
            case Call("select", (Call("eq", (_, Number(least))), Number(0), whole)):
                inner = whole if least == -math.inf else inner
            case _:
                pass
        if not isinstance(inner, Fold) or inner.kind != "sum" or fold.index in names_in(top):
            continue
        found = _under(inner, mine, top)
        if found is not None:
            one = fold.carried[0]
            return merged(plain_fold("sum", fold.index, fold.count, one.first, one.name, found))
    return None
