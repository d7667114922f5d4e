"""Terms that readers of products share: guards left out, sums of products, exact quotients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .scope import Scope
from .syntax import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Return,
    Statement,
    all_statements,
    is_zero,
    within,
)
from .unfit import Unfit

K = "%k"


def flattened(scope: Scope, body: tuple[Statement, ...]) -> Iterator[tuple[Statement, Scope]]:
    """The statements with the scope before each, guards of indices opened or left out."""
    for statement in body:
        if isinstance(statement, If) and not statement.otherwise and of_indices(statement.test):
            if all(isinstance(s, Return) for s in statement.then):
                continue
            if any(isinstance(s, Return) for s in all_statements(statement.then)):
                raise Unfit("a guard returns in the middle of its work")
            yield from flattened(scope, statement.then)
            continue
        yield statement, scope
        scope = scope.declare(statement)


def of_indices(test: Expr) -> bool:
    return not any(isinstance(e, Item | Call) for e in within(test))


def multiplied(loop: Loop, scope: Scope) -> tuple[str, tuple[Expr, Expr], Scope]:
    """`sum += a * b` as the only effect of a loop; names that only hold values are seen through."""
    found: tuple[str, tuple[Expr, Expr]] | None = None
    for statement in loop.body:
        match statement:
            case Declare(sizes=()):
                scope = scope.declare(statement)
            case Assign(target=Name(name=name)) if found is None:
                factors = _factors(name, statement, scope)
                if factors is None:
                    raise Unfit(f"`{name}` is no sum of products of two elements")
                found = name, factors
            case _:
                raise Unfit("the loop over k does more than add up products")
    if found is None:
        raise Unfit("the loop over k adds nothing up")
    return *found, scope


def _factors(name: str, statement: Assign, scope: Scope) -> tuple[Expr, Expr] | None:
    def mine(expr: Expr) -> bool:
        return isinstance(expr, Name) and expr.name == name

    match statement.operator, scope.value(statement.value):
        case "+=", value:
            product = value
        case "=", Binary(operator="+", left=left, right=right) if mine(left) or mine(right):
            product = scope.value(right if mine(left) else left)
        case "=", Call(name="fmaf" | "__fmaf_rn" | "fma", arguments=(a, b, c)) if mine(c):
            return scope.value(a), scope.value(b)
        case _:
            return None
    if isinstance(product, Binary) and product.operator == "*":
        return scope.value(product.left), scope.value(product.right)
    return None


def sum_type(name: str, before: Iterable[Statement]) -> str:
    """The C++ type of a sum. Raises Unfit unless it is declared once, and begins at 0."""
    found = [s for s in before if isinstance(s, Declare) and s.name == name]
    value = found[0].value if len(found) == 1 else None
    if value is None or not is_zero(value):
        raise Unfit(f"`{name}` does not begin at 0")
    return found[0].type


def comparisons(test: Expr) -> Iterator[Binary | None]:
    """The parts of a test that is joined by `&&` or `||`; None for one that compares nothing."""
    match test:
        case Binary(operator="&&" | "||", left=left, right=right):
            yield from comparisons(left)
            yield from comparisons(right)
        case Binary():
            yield test
        case _:
            yield None
