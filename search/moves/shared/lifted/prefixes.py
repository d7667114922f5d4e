"""Rows in which every place gets what the elements up to it sum up to.

A sum of those before and of the own one is one, and so is that of the blocks before and of the
lanes up to the own one: `sum(b < B: sum(k < 32: f(32*b + k))) + sum(k <= lane: f(32*B + k))` is the
sum up to `32*B + lane`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .....analysis.lift.expressions import ONE, Call, Expr, Fold, Name, Number, names_in, walk
from .....analysis.lift.fold_laws import as_one_place, bound_of, plain_fold, term_of, where
from .....analysis.lift.rewriting import rebuilt, substitute
from .....analysis.lift.statements import Body, Dim, Each, Store, When, changed, expressions_in
from .....analysis.lift.sums import product, total
from .c_expressions import Unwritable
from .computed import Computed


@dataclass(frozen=True)
class PrefixRows:
    """Places of `outer`, each with a row of `columns`."""

    outer: tuple[Dim, ...]
    column: str
    """the name of a place in the row"""
    columns: Expr
    body: Body
    """for every column, over `terms` among others"""
    terms: Mapping[Fold, Expr]
    """sums up to the column, itself among them: what each column adds, over `column`"""


def prefix_rows(plain: Computed) -> PrefixRows:
    """The rows of a lift. Raises Unwritable where it has none."""
    match plain.lifted.body:
        case (Each(index, count, (), body),):
            pass
        case _:
            raise Unwritable("it does no loop along a row alone")
    dims, columns = plain.lifted.dims, count
    lanes = _in_lanes(dims, index, count, body)
    if lanes is not None:
        dims, index, columns, body = lanes
    body = changed(body, lambda each: _with_own(each, index))
    if not names_in(columns) <= plain.sizes.keys():
        raise Unwritable("the length of its rows is no size")
    terms = dict[Fold, Expr]()
    for each in body:
        if not isinstance(each, Store):
            raise Unwritable("it does more than store along a row")
        for fold in (f for e in (each.index, each.value) for f in walk(e) if isinstance(f, Fold)):
            term = term_of(fold)
            if fold.kind != "sum" or term is None or fold.count != total((Name(index), ONE)):
                raise Unwritable("what it folds is no sum up to each place")
            if fold.carried[0].first != Number(0.0, fold.dtype):
                raise Unwritable("a sum up to each place that begins with something")
            terms[fold] = substitute(term, {fold.index: Name(index)})
    if not terms or any(isinstance(f, Fold) for t in terms.values() for f in walk(t)):
        raise Unwritable("it sums nothing up to each place, or folds within that")
    _reads_nothing_written(body)
    return PrefixRows(dims, index, columns, body, terms)


def _reads_nothing_written(body: Body) -> None:
    written = {each.array for each in body if isinstance(each, Store)}
    read = {getattr(e, "array", "") for expr in expressions_in(body) for e in walk(expr)}
    if written & read:
        raise Unwritable("it reads an array that it writes")


def _with_own(expr: Expr, index: str) -> Expr:
    """Sums of the places before with the own one added as sums up to it."""
    made = rebuilt(expr, lambda each: _with_own(each, index))
    if not isinstance(made, Call) or made.op != "add":
        return made
    for before, own in (made.args, made.args[::-1]):
        term = term_of(before) if isinstance(before, Fold) and before.kind == "sum" else None
        if term is None or not isinstance(before, Fold) or before.count != Name(index):
            continue
        if substitute(term, {before.index: Name(index)}) == own:
            return replace(before, count=total((Name(index), ONE)))
    return made


def _in_lanes(
    dims: tuple[Dim, ...], turn: str, turns: Expr, body: Body
) -> tuple[tuple[Dim, ...], str, Expr, Body] | None:
    """A loop over blocks of a row, of which each lane has a place, as a loop over places."""
    match body:
        case (When(condition, inner, ()),):
            pass
        case _:
            return None
    for dim in dims:
        place = total((Name(dim.name), product(dim.extent, Name(turn))))
        bound = bound_of(condition, dim.name)
        if not isinstance(dim.extent, Number) or bound is None:
            continue
        columns = total((bound, product(dim.extent, Name(turn))))
        up = total((columns, dim.extent, Number(-1)))
        if turns != Call("div", (up, dim.extent), "int") or turn in names_in(columns):
            continue
        block = _Block(dim.name, turn, dim.extent, columns)
        made = changed(inner, lambda e, b=block, p=place: _joined(e, b, p))
        moved = [as_one_place(e, dim.name, turn, dim.extent) for e in expressions_in(made)]
        if any(each is None for each in moved):
            return None
        made = changed(made, lambda e, b=block: as_one_place(e, b.lane, b.turn, b.width) or e)
        return tuple(d for d in dims if d is not dim), dim.name, columns, made
    return None


@dataclass(frozen=True, slots=True)
class _Block:
    """How a row lies in blocks: `lane + width * turn < columns`."""

    lane: str
    turn: str
    width: Number
    columns: Expr


def _joined(expr: Expr, block: _Block, place: Expr) -> Expr:
    """Sums of the blocks before and of the lanes up to the own one as sums up to the place."""
    made = rebuilt(expr, lambda each: _joined(each, block, place))
    if not isinstance(made, Call) or made.op != "add":
        return made
    for before, here in (made.args, made.args[::-1]):
        if not (isinstance(before, Fold) and isinstance(here, Fold)):
            continue
        if here.count != total((Name(block.lane), ONE)) or before.count != Name(block.turn):
            continue
        own, all_before = _own_term(here, block), _term_before(before, block)
        if own is not None and own == all_before:
            one = before.carried[0]
            count = total((place, ONE))
            return plain_fold("sum", _PLACE, count, one.first, one.name, own)
    return made


_PLACE = "~place"


def _own_term(here: Fold, block: _Block) -> Expr | None:
    """What a place adds, by the sum over lanes up to the own one, none of which is beyond the
    row."""
    term = term_of(here) if here.kind == "sum" else None
    if term is None:
        return None
    last = total((Name(here.index), product(block.width, Name(block.turn))))
    term = where(term, Call("lt", (last, block.columns), "bool"))
    found = as_one_place(term, here.index, block.turn, block.width)
    return None if found is None else substitute(found, {here.index: Name(_PLACE)})


def _term_before(before: Fold, block: _Block) -> Expr | None:
    """What a place adds, by the sum of whole blocks."""
    inner = term_of(before) if before.kind == "sum" else None
    if not isinstance(inner, Fold) or inner.kind != "sum":
        return None
    left = total((block.columns, product(Number(-int(block.width.value)), Name(before.index))))
    whole = (block.width, Call("min", (left, block.width), "int"))
    term = term_of(inner)
    if term is None or inner.count not in whole:
        return None
    found = as_one_place(term, inner.index, before.index, block.width)
    return None if found is None else substitute(found, {inner.index: Name(_PLACE)})
