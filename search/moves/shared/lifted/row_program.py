"""Rows: what is folded along them, in which order, and what is stored of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .....analysis.lift.conditions import follows
from .....analysis.lift.expressions import (
    ONE,
    ZERO,
    Call,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    call,
    names_in,
    walk,
)
from .....analysis.lift.folding import combination, neutral
from .....analysis.lift.rewriting import substitute
from .....analysis.lift.statements import (
    Body,
    Dim,
    Each,
    Let,
    Statement,
    Store,
    changed,
    expressions_in,
)
from .....analysis.lift.sums import coefficient, difference, terms_of, total
from .c_expressions import Unwritable
from .computed import Computed
from .online import with_plain_folds

COLUMN = "~column"
"""the name of a place in the row while a program is looked at"""


@dataclass(frozen=True, slots=True)
class Running:
    """What a sum of 2^((term - maximum) * factor) hangs on (`running.py`)."""

    greatest: Fold
    factor: float


@dataclass(frozen=True, slots=True)
class Reduction:
    """A fold along a row that any number of threads can share."""

    fold: Fold
    """as it stands in what uses it"""
    kind: str
    """sum, product, max, min, argmax, argmin; running: a maximum with a sum under it"""
    first: Expr
    """of argmax the value that it starts from, of running the maximum"""
    term: Expr
    """over COLUMN"""
    columns: Expr
    """how many the row has"""
    start: Expr
    """the first column that counts"""
    place: Expr = ZERO
    """of argmax: what is kept of a column"""
    first_place: Expr = ZERO
    later: bool = False
    """of argmax: of equal ones the last"""
    running: Running | None = None


@dataclass(frozen=True)
class RowProgram:
    """Places of `outer`, each with a row of `columns`."""

    outer: tuple[Dim, ...]
    columns: Expr
    passes: tuple[tuple[Reduction, ...], ...]
    """what is reduced in one pass over the row needs only what those before it left"""
    elements: tuple[Body, ...]
    """statements for every column, over COLUMN"""
    ends: Body
    """statements once a row, in the end"""


def row_program(plain: Computed) -> RowProgram:
    """The rows of a lift. Raises Unwritable where it has none."""
    dims, body = _with_loop_of_columns(plain)
    body = _forwarded(with_plain_folds(_with_first_folds(body)))
    known = plain.sizes.keys()
    elements, ends = list[Body](), list[Statement]()
    _apart(body)
    counts = list[Expr]()
    for each in body:
        if isinstance(each, Each):
            if each.carried:
                raise Unwritable("a loop along a row carries what is no reduction")
            counts.append(each.count)
            column = {each.index: Name(COLUMN)}
            elements.append(changed(each.body, lambda e, c=column: substitute(e, c)))
        elif ends and isinstance(each, Let):
            raise Unwritable("a row reads again what it has stored")
        else:
            ends.append(each)
    folds = _folds_in(body)
    turning = _own(folds)
    alone = [f for f in folds if not (names_in(f) - _own(_folds_of(f))) & turning]
    reductions = {fold: reduction for fold in alone if (reduction := reduction_of(fold))}
    if not reductions:
        raise Unwritable("nothing is folded along rows")
    counts += [each.columns for each in reductions.values() if names_in(each.columns) <= known]
    if not counts:
        raise Unwritable("its rows have lengths of their own")
    columns = counts[0]
    reductions = {fold: _whole(each, columns, dims) for fold, each in reductions.items()}
    counts += [each.columns for each in reductions.values()]
    if any(each != columns for each in counts) or not names_in(columns) <= known:
        raise Unwritable("its loops have different lengths")
    return RowProgram(
        outer=dims,
        columns=columns,
        passes=_passes(reductions),
        elements=tuple(elements),
        ends=tuple(ends),
    )


def _whole(reduction: Reduction, columns: Expr, dims: tuple[Dim, ...]) -> Reduction:
    """One of the first columns alone, as many as the place says, as one of all of them: the rest
    counts as nothing. As it is where that is not surely the same."""
    count, kind = reduction.columns, reduction.kind
    nothing = neutral(kind, reduction.term.dtype)
    if count == columns or nothing is None or reduction.start != ZERO:
        return reduction
    if not _within(count, columns, dims):
        return reduction
    inside = call("lt", Name(COLUMN), count, dtype="bool")
    term = Call("select", (inside, reduction.term, nothing), reduction.term.dtype)
    return replace(reduction, columns=columns, term=term)


def _with_first_folds(body: Body) -> Body:
    """What is folded before anything is stored, in its place: passes over the row come first
    anyway."""
    known = dict[str, Expr]()
    while body and isinstance(first := body[0], Let) and isinstance(first.value, Fold):
        known[first.name] = substitute(first.value, known)
        body = body[1:]
    return changed(body, lambda e: substitute(e, known)) if known else body


def _within(count: Expr, columns: Expr, dims: tuple[Dim, ...]) -> bool:
    """Whether a fold surely is not over more than all columns."""
    fits = call("le", count, columns, dtype="bool")
    facts = (call("lt", Name(d.name), d.extent, dtype="bool") for d in dims)
    return count == columns or any(follows(fits, fact) for fact in facts)


def _with_loop_of_columns(plain: Computed) -> tuple[tuple[Dim, ...], Body]:
    """Dimensions without the one along which values are folded anew at each place: that is a loop
    of the row."""
    dims, body = plain.lifted.dims, plain.lifted.body
    folds = _folds_in(body)
    for dim in reversed(dims):
        across = [f for f in folds if dim.name not in names_in(f)]
        longest = across and _within(across[0].count, dim.extent, dims)
        if across and all(f in across for f in folds) and longest:
            left = tuple(d for d in dims if d != dim)
            return left, (Each(dim.name, dim.extent, (), body),)
    return dims, body


def _apart(body: Body) -> None:
    """Raises Unwritable where a loop reads what one stores at another column."""
    stored = {
        (s.array, _at(loop, s))
        for loop in body
        if isinstance(loop, Each)
        for s in loop.body
        if isinstance(s, Store)
    }
    arrays = {array for array, _ in stored}
    for loop in body:
        for statement in loop.body if isinstance(loop, Each) else (loop,):
            if isinstance(statement, Let) and isinstance(statement.value, Load):
                read = statement.value
                column = {loop.index: Name(COLUMN)} if isinstance(loop, Each) else {}
                at = (read.array, substitute(read.index, column))
                if read.array in arrays and at not in stored:
                    raise Unwritable("a row reads what it stores at another column")


def _folds_in(body: Body) -> list[Fold]:
    """Every fold, the inner ones first."""
    found = dict[Fold, None]()
    for expr in expressions_in(body):
        for each in reversed(list(walk(expr))):
            if isinstance(each, Fold):
                found[each] = None
    return list(found)


def _folds_of(expr: Expr) -> list[Fold]:
    return [part for part in walk(expr) if isinstance(part, Fold)]


def _own(folds: Sequence[Fold]) -> set[str]:
    """Names that these folds give: what hangs on one of another fold is done anew in its turns."""
    return {each.index for each in folds} | {c.name for each in folds for c in each.carried}


def reduction_of(fold: Fold) -> Reduction | None:
    """The fold as a reduction; None where the order of its iterations counts."""
    column = {fold.index: Name(COLUMN)}
    start = _start(fold)
    moved = {fold.index: difference(Name(COLUMN), start)} if start != ZERO else column
    columns = total((fold.count, start))
    if len(fold.carried) == 1:
        one = fold.carried[0]
        found = combination(one)
        if found is None or one.name in names_in(found[1]):
            return None
        kind, term = found[0], substitute(found[1], moved)
        if kind in ("max", "min") and start == ONE and _first(term) == one.first:
            start = ZERO  # the first column is where it starts from: it may count twice
        return Reduction(fold, kind, one.first, term, columns, start)
    return _pair(fold, moved, columns, start)


def _first(term: Expr) -> Expr:
    return substitute(term, {COLUMN: ZERO})


def _start(fold: Fold) -> Expr:
    """How far the columns lie behind the fold's index, as its elements say: `x[base + k + 1]`."""
    found = [
        coefficient(each.index, fold.index)
        for carried in fold.carried
        for each in walk(carried.next)
        if isinstance(each, Load)
    ]
    offsets = {terms_of(each[1]).get((), 0) for each in found if each and each[0] == ONE}
    return Number(offsets.pop()) if len(offsets) == 1 and min(offsets) > 0 else ZERO


def _pair(fold: Fold, moved: Mapping[str, Expr], columns: Expr, start: Expr) -> Reduction | None:
    if fold.kind not in ("argmax", "argmin"):
        return None
    for best, place in (fold.carried, fold.carried[::-1]):
        found = combination(best)
        if found is None or found[0] not in ("max", "min"):
            continue
        assert isinstance(place.next, Call)
        condition, chosen, _ = place.next.args
        later = isinstance(condition, Call) and condition.op in ("le", "ge")
        term, kept = substitute(found[1], moved), substitute(chosen, moved)
        if start == ONE and (_first(term), _first(kept)) == (best.first, place.first) and not later:
            start = ZERO
        return Reduction(
            fold, fold.kind, best.first, term, columns, start, kept, place.first, later
        )
    return None


def _passes(reductions: Mapping[Fold, Reduction]) -> tuple[tuple[Reduction, ...], ...]:
    """Reductions by how many others must be done before."""
    levels = dict[Fold, int]()

    def level(fold: Fold) -> int:
        if fold not in levels:
            inner = [each for each in walk(fold) if isinstance(each, Fold) and each != fold]
            if any(each not in reductions for each in inner):
                raise Unwritable("a fold within a fold")
            levels[fold] = 1 + max((level(each) for each in inner), default=-1)
        return levels[fold]

    most = max(level(fold) for fold in reductions)
    return tuple(
        tuple(r for fold, r in reductions.items() if level(fold) == at) for at in range(most + 1)
    )


def _forwarded(body: Body) -> Body:
    """Loops that read what an earlier one of the row has stored at the same column take the value
    itself, and what is stored anew is stored once."""
    out = list[Statement]()
    for each in body:
        if isinstance(each, Each) and not each.carried:
            each = _with_values(each, out)
            mine = {(s.array, _at(each, s)) for s in each.body if isinstance(s, Store)}
            out = [left for left in (_without(o, each, mine) for o in out) if left is not None]
        out.append(each)
    return tuple(out)


def _at(loop: Each, store: Store) -> Expr:
    return substitute(store.index, {loop.index: Name(COLUMN)})


def _stored(before: list[Statement], loop: Each) -> Iterator[tuple[Store, Each]]:
    for each in before:
        if isinstance(each, Each) and each.count == loop.count:
            for store in each.body:
                if isinstance(store, Store):
                    yield store, each


def _with_values(loop: Each, before: list[Statement]) -> Each:
    known, body = dict[str, Expr](), list[Statement]()
    for statement in loop.body:
        made = changed((statement,), lambda e: substitute(e, known))[0]
        if isinstance(made, Let) and isinstance(made.value, Load):
            read = made.value
            at = substitute(read.index, {loop.index: Name(COLUMN)})
            value = [
                substitute(store.value, {other.index: Name(loop.index)})
                for store, other in _stored(before, loop)
                if store.array == read.array and _at(other, store) == at
            ]
            if value:
                known[made.name] = value[-1]
                continue
        body.append(made)
    return replace(loop, body=tuple(body))


def _without(statement: Statement, loop: Each, mine: set[tuple[str, Expr]]) -> Statement | None:
    """An earlier loop without what a later one stores over, where nothing else read it."""
    if not isinstance(statement, Each) or statement.count != loop.count:
        return statement
    kept = tuple(
        s
        for s in statement.body
        if not (isinstance(s, Store) and (s.array, _at(statement, s)) in mine)
    )
    return replace(statement, body=kept) if kept else None
