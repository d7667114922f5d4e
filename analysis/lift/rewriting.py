"""Expressions with other parts, in normal form again; and kernels whose loops are named by the
order in which they stand, so that equal kernels have equal lifts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from .expressions import (
    Call,
    Carried,
    DType,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Pointer,
    Sum,
    call,
    walk,
)
from .machine import as_type
from .statements import Body, Each, Lifted, Statement, When, changed, expressions_in, statements_in
from .sums import divided, from_terms, product, total


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with its parts changed, in normal form again."""
    match expr:
        case Sum(terms):
            return total(
                product(from_terms({(): number}), *(change(each) for each in factors))
                for factors, number in terms
            )
        case Call(op, args, dtype):
            return remade(op, tuple(change(each) for each in args), dtype)
        case Load(array, index, dtype):
            return Load(array, change(index), dtype)
        case Pointer(array, offset):
            return Pointer(array, change(offset))
        case Fold(kind, index, count, carried, which):
            made = tuple(
                Carried(each.name, each.dtype, change(each.first), change(each.next))
                for each in carried
            )
            return Fold(kind, index, change(count), made, which)
        case _:
            return expr


def remade(op: str, args: tuple[Expr, ...], dtype: DType) -> Expr:
    """An operation on other arguments. `elements` of bytes waits until it is seen that they are a
    multiple of an element."""
    if op == "elements" and isinstance(args[1], Number):
        whole = divided(args[0], int(args[1].value))
        return Call(op, args, dtype) if whole is None else whole
    if op == "bits" and isinstance(args[0], Number):
        return as_type(args[0], dtype)
    return call(op, *args, dtype=dtype)


def substitute(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    """The expression with values in place of names."""
    memo = dict[int, Expr]()

    def change(here: Expr) -> Expr:
        if isinstance(here, Name):
            return known.get(here.name, here)
        found = memo.get(id(here))
        if found is None:
            memo[id(here)] = found = rebuilt(here, change)
        return found

    return change(expr) if known else expr


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """The expression with other names, those of loops within it as well."""

    def change(here: Expr) -> Expr:
        if isinstance(here, Name):
            return Name(names.get(here.name, here.name), here.dtype)
        made = rebuilt(here, change)
        if not isinstance(made, Fold):
            return made
        carried = tuple(
            Carried(names.get(c.name, c.name), c.dtype, c.first, c.next) for c in made.carried
        )
        index = names.get(made.index, made.index)
        return Fold(made.kind, index, made.count, carried, made.which)

    return change(expr)


def with_values(lifted: Lifted, known: Mapping[str, Expr]) -> Lifted:
    """The kernel with values for what it does not set itself, such as the size of its grid."""
    dims = tuple(replace(d, extent=substitute(d.extent, known)) for d in lifted.dims)
    body = changed(lifted.body, lambda each: substitute(each, known))
    return replace(lifted, dims=dims, body=body)


def numbered(lifted: Lifted) -> Lifted:
    """The kernel with loops `k1`, `k2` ... and carried values `~1`, `~2` ... in order."""
    names, loops, values = dict[str, str](), 0, 0
    taken = {each.name for each in lifted.arguments} | {each.name for each in lifted.dims}

    def note(index: str, carried: list[str]) -> None:
        nonlocal loops, values
        if index not in names:
            loops += 1
            while f"k{loops}" in taken:
                loops += 1
            names[index] = f"k{loops}"
        for each in carried:
            if each not in names:
                values += 1
                names[each] = f"~{values}"

    for statement in statements_in(lifted.body):
        if isinstance(statement, Each):
            note(statement.index, [each.name for each in statement.carried])
        for expr in expressions_in((_bare(statement),)):
            for part in walk(expr):
                if isinstance(part, Fold):
                    note(part.index, [each.name for each in part.carried])
    return replace(lifted, body=_renamed(lifted.body, names))


def _bare(statement: Statement) -> Statement:
    """A statement without those within it."""
    if isinstance(statement, When):
        return replace(statement, yes=(), no=())
    return replace(statement, body=()) if isinstance(statement, Each) else statement


def _renamed(body: Body, names: dict[str, str]) -> Body:
    return tuple(_binding(each, names) for each in changed(body, lambda e: renamed(e, names)))


def _binding(statement: Statement, names: dict[str, str]) -> Statement:
    """The statement with the names that it gives; its expressions have theirs."""
    if isinstance(statement, When):
        yes, no = (
            tuple(_binding(each, names) for each in body) for body in (statement.yes, statement.no)
        )
        return replace(statement, yes=yes, no=no)
    if not isinstance(statement, Each):
        return statement
    carried = tuple(replace(c, name=names.get(c.name, c.name)) for c in statement.carried)
    body = tuple(_binding(each, names) for each in statement.body)
    return replace(
        statement, index=names.get(statement.index, statement.index), carried=carried, body=body
    )
