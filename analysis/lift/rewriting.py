"""Expressions with other parts, in normal form again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .expressions import Call, Carried, DType, Expr, Fold, Load, Name, Number, Pointer, Sum, call
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
