"""Extremes and their places, however lanes and blocks kept them, as one fold along a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .....analysis.lift.expressions import (
    ONE,
    Call,
    Carried,
    Expr,
    Fold,
    Name,
    Number,
    names_in,
    parts,
)
from .....analysis.lift.fold_laws import (
    as_one_place,
    merged,
    plain_fold,
    term_of,
)
from .....analysis.lift.folding import combination
from .....analysis.lift.rewriting import substitute
from .....analysis.lift.sums import difference, total

_INFINITE = {"max": -float("inf"), "min": float("inf")}


def _pair_of(kind: str, extreme: Fold, term: Expr, place: Carried) -> Fold:
    """The place of an extreme, the first of those that are as great; `place`: what is kept where
    nothing is beyond what the extreme begins with."""
    k, q = extreme.index, Name(place.name)
    value = extreme.carried[0]
    b = Name(f"{value.name}v", value.dtype)
    order = Call("gt" if kind == "max" else "lt", (term, b), "bool")
    carried = (
        Carried(q.name, "int", place.first, Call("select", (order, Name(k), q), "int")),
        Carried(b.name, b.dtype, value.first, Call("select", (order, term, b), b.dtype)),
    )
    return Fold(f"arg{kind}", k, extreme.count, carried, 0)


def _of_pairs_in_order(fold: Fold) -> Expr | None:
    """Of two neighbours the greater, and of equal ones the one before, as `tl.argmax` joins them:
    an extreme and its first place, from the first element on."""
    if fold.kind != "recurrence" or len(fold.carried) != 2:
        return None
    for place, value in (fold.carried, fold.carried[::-1]):
        match place.next, value.next:
            case Call("select", (keep, Name() as q, at)), Call(
                "select", (other, Name() as b, term)
            ):
                pass
            case _:
                continue
        later = total((Name(fold.index), ONE))
        if (q.name, b.name, at, other) != (place.name, value.name, later, keep):
            continue
        kind = next((k for k in ("max", "min") if keep == _kept(k, b, term, q, at)), None)
        if kind is None or place.first != Number(0) or {q.name, b.name} & names_in(term):
            continue
        before = {fold.index: difference(Name(fold.index), ONE)}
        whole = substitute(term, before)
        if substitute(whole, {fold.index: Number(0)}) != value.first:
            continue
        first = Number(_INFINITE[kind], value.dtype)
        count = total((fold.count, ONE))
        found = merged(plain_fold(kind, fold.index, count, first, value.name, whole))
        inner = term_of(found) if isinstance(found, Fold) else None
        if not isinstance(found, Fold) or inner is None or found.kind != kind:
            continue
        pair = _pair_of(kind, found, inner, place)
        if fold.carried[fold.which] == place:
            return pair
        return found
    return None


def _kept(kind: str, best: Name, term: Expr, place: Name, at: Expr) -> Expr:
    """The condition under which `tl.argmax` and `tl.argmin` keep the one before."""
    beyond = Call("gt" if kind == "max" else "lt", (best, term), "bool")
    equal = Call("eq", (best, term), "bool")
    earlier = Call("lt", (place, at), "bool")
    return Call("or", (beyond, Call("and", (equal, earlier), "bool")), "bool")


def _of_blocks(fold: Fold) -> Expr | None:
    """An extreme of the extremes of blocks, with the place of each within its block."""
    if not fold.kind.startswith("arg") or len(fold.carried) != 2:
        return None
    kind = fold.kind.removeprefix("arg")
    for place, value in (fold.carried, fold.carried[::-1]):
        found = combination(value)
        if found is None or found[0] != kind or not isinstance(place.next, Call):
            continue
        best, chosen = found[1], place.next.args[1]
        inner = next((e for e in parts(chosen) if isinstance(e, Fold)), None)
        if not isinstance(best, Fold) or inner is None or inner.kind != fold.kind:
            continue
        term, pair = term_of(best), _place_in(inner)
        if term is None or pair is None or best.kind != kind or inner.count != best.count:
            continue
        within, own = pair
        if substitute(own, {inner.index: Name(best.index)}) != term:
            continue
        at = total((difference(chosen, inner), substitute(within, {inner.index: Name(best.index)})))
        first = value.first
        whole = merged(plain_fold(kind, fold.index, fold.count, first, value.name, best))
        joined = term_of(whole) if isinstance(whole, Fold) else None
        if not isinstance(whole, Fold) or joined is None or isinstance(joined, Fold):
            continue
        if not _is_counted(at, fold.index, best):
            continue
        return whole if fold.carried[fold.which] == value else _pair_of(kind, whole, joined, place)
    return None


def _place_in(fold: Fold) -> tuple[Expr, Expr] | None:
    """(what is kept as the place, the term) of an extreme with its place, where that is asked."""
    place = fold.carried[fold.which]
    value = next((each for each in fold.carried if each is not place), None)
    found = None if value is None else combination(value)
    if found is None or not isinstance(place.next, Call) or place.dtype != "int":
        return None
    return place.next.args[1], found[1]


def _is_counted(at: Expr, turn: str, block: Fold) -> bool:
    """Whether places of blocks are numbered through: `width * turn + place`."""
    widths = [block.count, *(block.count.args if isinstance(block.count, Call) else ())]
    return any(
        as_one_place(at, block.index, turn, width) == Name(block.index)
        for width in widths
        if isinstance(width, Number)
    )


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
    return _pair_of(kind, found.extreme, whole, place)


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


PLACES = (_of_pairs_in_order, _of_blocks, _first_place)
"""laws that give the one fold, or None"""
