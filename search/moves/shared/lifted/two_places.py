"""One parallel dimension as two, where only a row's number and a place in the row are used."""

from __future__ import annotations

from .....analysis.lift.expressions import (
    ONE,
    ZERO,
    Call,
    Expr,
    Name,
    Number,
    call,
    names_in,
    walk,
)
from .....analysis.lift.rewriting import substitute
from .....analysis.lift.statements import Body, Dim, changed, expressions_in
from .....analysis.lift.sums import product, terms_of, total
from .computed import Computed
from .domains import divisor
from .flat import replaced
from .names import Names


def with_rows(
    dims: tuple[Dim, ...], body: Body, plain: Computed, names: Names
) -> tuple[tuple[Dim, ...], Body]:
    """The dimensions, those of whole rows as two or more, and what is done at them."""
    found = list[Dim]()
    for dim in dims:
        outer, inner = dim, list[Dim]()
        while (split := _split(outer, body, plain, names)) is not None:
            (outer, column), body = split
            inner.append(column)
        found += [outer, *reversed(inner)]
    return tuple(found), body


def _split(
    dim: Dim, body: Body, plain: Computed, names: Names
) -> tuple[tuple[Dim, Dim], Body] | None:
    """A dimension as rows of the shortest length that it is divided by."""
    parts = {
        e
        for expr in expressions_in(body)
        for e in walk(expr)
        if isinstance(e, Call) and e.op in ("div", "rem") and e.args[0] == Name(dim.name)
    }
    lengths = {e.args[1] for e in parts}
    for length in lengths:
        times = {each: _quotient(each, length) for each in lengths}
        rows = _quotient(dim.extent, length) or _rows_by_domain(dim.extent, length, plain)
        if rows is None or None in times.values() or not names_in(length) <= plain.sizes.keys():
            continue
        outer, inner = Dim(names.fresh("row"), rows), Dim(names.fresh("column"), length)
        known = dict[Expr, Expr]()
        for each in parts:
            by = times[each.args[1]]
            assert by is not None
            known[each] = _part(each.op, outer, inner, by)
        body = changed(body, lambda each, of=known: replaced(each, of.get))
        whole: dict[str, Expr] = {dim.name: _whole(Name(outer.name), inner)}
        return (outer, inner), changed(body, lambda each, of=whole: substitute(each, of))
    return None


def _rows_by_domain(extent: Expr, length: Expr, plain: Computed) -> Expr | None:
    """As many rows as there are, where every legal size is one of whole rows."""
    if not isinstance(length, Number) or divisor(extent, plain) % int(length.value):
        return None
    return Call("div", (extent, length), "int")


def _part(op: str, outer: Dim, inner: Dim, by: Expr) -> Expr:
    """The quotient, or the rest, of the whole place by `by` rows."""
    row = call(op, Name(outer.name), by, dtype="int")
    return row if op == "div" else _whole(ZERO if by == ONE else row, inner)


def _whole(row: Expr, inner: Dim) -> Expr:
    return total((product(row, inner.extent), Name(inner.name)))


def _quotient(extent: Expr, by: Expr) -> Expr | None:
    """`extent / by` where `extent` is one product that holds `by`; None otherwise."""
    terms = terms_of(extent)
    if len(terms) != 1:
        return None
    ((factors, number),) = terms.items()
    if isinstance(by, Number):
        whole, rest = divmod(number, int(by.value))
        return None if rest else product(*factors, Number(whole))
    if by not in factors:
        return None
    left = list(factors)
    left.remove(by)
    return product(*left, Number(number))
