"""Values that a loop carries beside an extreme, as folds of their own.

A sum of exponentials under the maximum so far, rescaled whenever that grows, is the sum under the
whole maximum, whatever the order and however many partial sums are joined:
`s * exp(m - n) + exp(x - n)` leaves `sum(exp(x - max(x)))`, and so do sums of blocks, and of lanes
that are scaled to the greatest of their maxima in the end. An extreme that each lane kept with its
place, and the first place of those that are as great, are one fold of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .....analysis.lift.expressions import Call, Carried, Expr, Fold, Name, Number, names_in
from .....analysis.lift.fold_laws import as_one_place, merged, plain_fold, term_of
from .....analysis.lift.folding import combination
from .....analysis.lift.rewriting import rebuilt, substitute
from .....analysis.lift.statements import Body, changed

_EXPONENTIALS = ("exp", "fast_exp", "exp2", "fast_exp2")


def with_plain_folds(body: Body) -> Body:
    """Statements with folds of one value each in place of running maxima with sums under them, and
    one fold in place of extremes of lanes."""
    return changed(body, _plain)


def _plain(expr: Expr) -> Expr:
    made = rebuilt(expr, _plain)
    if not isinstance(made, Fold):
        return made
    for law in (_without_running_maximum, _of_scaled_sums, _first_place):
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
        found = _added(scaled, greatest)
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
        return merged(
            plain_fold("sum", k.name, fold.count, _begun(scaled, greatest, most, op),
                       scaled.name, term)
        )  # fmt: skip
    return None


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
        if not isinstance(inner, Fold) or inner.kind != "sum" or fold.index in names_in(top):
            continue
        found = _under(inner, mine, top)
        if found is not None:
            one = fold.carried[0]
            return merged(plain_fold("sum", fold.index, fold.count, one.first, one.name, found))
    return None


@dataclass(frozen=True, slots=True)
class _Lanes:
    """What `min(lanes: select(best == extreme, place, beyond))` is made of."""

    lanes: Fold
    """the fold over lanes"""
    best: Fold
    """of one lane"""
    extreme: Fold
    """of all"""
    pair: Fold
    """of one lane: the place that goes with `best`"""


def _first_place(fold: Fold) -> Expr | None:
    """The first place of those at which lanes found what is the extreme of all."""
    found = _lanes(fold)
    if found is None:
        return None
    kind, place = found.best.kind, found.pair.carried[found.pair.which]
    value = next(each for each in found.pair.carried if each is not place)
    term, whole = term_of(found.best), term_of(found.extreme)
    best = combination(value)
    if term is None or whole is None or best is None or not isinstance(place.next, Call):
        return None
    own = {found.pair.index: Name(found.best.index)}
    if found.pair.count != found.best.count or substitute(best[1], own) != term:
        return None
    if not _is_all_of(found, kind) or not _counts_places(
        found, substitute(place.next.args[1], own)
    ):
        return None
    k, q, b = found.extreme.index, Name(place.name), Name(value.name, value.dtype)
    order = Call("gt" if kind == "max" else "lt", (whole, b), "bool")
    carried = (
        Carried(q.name, "int", place.first, Call("select", (order, Name(k), q), "int")),
        Carried(b.name, b.dtype, found.extreme.carried[0].first,
                Call("select", (order, whole, b), b.dtype)),
    )  # fmt: skip
    return Fold(f"arg{kind}", k, found.extreme.count, carried, 0)


def _lanes(fold: Fold) -> _Lanes | None:
    term = term_of(fold) if fold.kind == "min" and fold.dtype == "int" else None
    match term:
        case Call("select", (Call("eq", pair), Fold() as place, _)) if place.kind.startswith("arg"):
            pass
        case _:
            return None
    for best, extreme in (pair, pair[::-1]):
        if not (isinstance(best, Fold) and isinstance(extreme, Fold)):
            continue
        mine = fold.index in names_in(best) and fold.index not in names_in(extreme)
        if mine and best.kind == extreme.kind == place.kind.removeprefix("arg"):
            return _Lanes(fold, best, extreme, place)
    return None


def _is_all_of(found: _Lanes, kind: str) -> bool:
    """Whether the extreme is that of all lanes."""
    first = found.best.carried[0].first
    all_lanes = merged(
        plain_fold(kind, found.lanes.index, found.lanes.count, first, "~all", found.best)
    )
    if not isinstance(all_lanes, Fold) or all_lanes.count != found.extreme.count:
        return False
    mine, other = term_of(all_lanes), term_of(found.extreme)
    same = {all_lanes.index: Name(found.extreme.index)}
    return mine is not None and substitute(mine, same) == other


def _counts_places(found: _Lanes, place: Expr) -> bool:
    """Whether what a lane keeps is the place among all, in the order in which it goes."""
    lane, turn = found.lanes.index, found.best.index
    ways: tuple[Callable[[], Expr | None], ...] = (
        lambda: as_one_place(place, lane, turn, found.lanes.count),
        lambda: as_one_place(place, turn, lane, found.best.count),
    )
    return any(way() in (Name(lane), Name(turn)) for way in ways)
