"""A loop over the columns of a row, recognised.

It may reduce (sums, extremes, the place of an extreme) and map at once. Whatever runs through a
column before it (a scan) is none of these: `row_scan.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....shared.affine import Form
from .facts import Unfit
from .reductions import Reduction, check_start, read_reduction
from .scope import Scope
from .syntax import (
    Assign,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Statement,
    all_expressions,
    all_statements,
    expressions,
    names_in,
    within,
)


@dataclass(frozen=True)
class Access:
    """`array[base + j]` in a loop over j."""

    item: Item
    array: str
    base: Form
    writes: bool
    reads: bool


@dataclass(frozen=True)
class RowLoop:
    """A loop over the columns of the row."""

    loop: Loop
    reductions: tuple[Reduction, ...]
    accesses: tuple[Access, ...]


def row_loop(scope: Scope, loop: Loop, starts: dict[str, Expr]) -> RowLoop:
    """The loop as one over the columns of a row; raises Unfit for one that is none.

    `starts`: scalars and what they hold before it.
    """
    variable = f"%{loop.variable}"
    if scope.form(loop.step) != Form.number(1) or loop.inclusive or not loop.kind:
        raise Unfit("a loop over columns does not go from one column to the next")
    first = scope.form(loop.first)
    if first is None or first.constant is None:
        raise Unfit("a loop over columns does not begin at a number")
    if any(isinstance(s, Loop) for s in all_statements(loop.body)):
        raise Unfit("there is a loop within a loop over columns")
    inner = scope.loop(loop)
    local = {s.name for s in all_statements(loop.body) if isinstance(s, Declare)}
    reductions, accesses = list[Reduction](), list[Access]()
    others = list[Statement]()
    for statement in loop.body:
        reduction = read_reduction(statement, loop, local)
        if reduction is None:
            others.append(statement)
        else:
            check_start(reduction, starts)
            reductions.append(reduction)
        accesses += _accesses(inner, statement, variable)
        inner = inner.declare(statement)
    _check_body(tuple(others), local, reductions, loop)
    return RowLoop(loop, tuple(reductions), tuple(accesses))


def _check_body(
    others: tuple[Statement, ...], local: set[str], reductions: list[Reduction], loop: Loop
) -> None:
    names = {n for r in reductions for n in (r.name, r.place) if n}
    if len(names) != sum(1 + bool(r.place) for r in reductions):
        raise Unfit("a loop over columns reduces into one variable twice")
    for statement in all_statements(others):
        if isinstance(statement, Assign) and isinstance(statement.target, Name):
            if statement.target.name not in local:
                raise Unfit(
                    f"`{statement.target.name}` changes from column to column, "
                    "and is no sum, extreme or place of one"
                )
        elif not isinstance(statement, Assign | Declare | If):
            raise Unfit("a loop over columns holds more than assignments and reductions")
    for statement in loop.body:
        if statement in others and names & _mentioned(statement):
            raise Unfit("a loop over columns uses a reduction before it is whole")


def _mentioned(statement: Statement) -> frozenset[str]:
    return frozenset[str]().union(*(names_in(e) for e in all_expressions((statement,))))


def _accesses(scope: Scope, statement: Statement, variable: str) -> Iterator[Access]:
    written = {
        s.target.span: s.operator != "="
        for s in all_statements((statement,))
        if isinstance(s, Assign) and isinstance(s.target, Item)
    }
    conditional = {
        s.target.span
        for top in all_statements((statement,)) if isinstance(top, If)
        for s in all_statements((*top.then, *top.otherwise)) if isinstance(s, Assign)
    }  # fmt: skip
    for expr in (e for top in _outermost(statement) for e in within(top)):
        if not isinstance(expr, Item):
            continue
        place = scope.place(expr)
        step = place.index.coefficient(variable) if place else None
        writes = expr.span in written
        if place is None or step is None:
            raise Unfit(
                f"an access of `{expr.array}` has an index that is not affine in the column"
            )
        if step != Form.number(1):
            if writes or step.terms:
                raise Unfit(f"an access of `{expr.array}` does not go from element to element")
            continue
        if expr.span in conditional:
            raise Unfit(f"`{expr.array}` is stored to in some columns only")
        base = place.index.without(variable)
        reads = not writes or written[expr.span]
        yield Access(expr, place.array, base, writes, reads)


def _outermost(statement: Statement) -> Iterator[Expr]:
    """The expressions of a statement and of those within it, not those within expressions."""
    for inner in all_statements((statement,)):
        yield from expressions(inner)
