"""Arithmetic over named values, as it stands in specs: `cdiv(n, BLOCK) * 4`.

The text is parsed, never executed: only the node types below have a meaning, so there
is nothing to call, import or look up beyond the names and functions given here.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from .errors import ExpressionError

Number = int | float
MAX_TEXT = 500
MAX_BITS = 256  # keeps 2**2**2**... from eating the machine; no size or count needs more


def cdiv(a: int, b: int) -> int:
    """Ceiling division of integers."""
    return -(-a // b)


def next_pow2(n: int) -> int:
    """The smallest power of two that is at least n (1 for n <= 1)."""
    return 1 << max(0, math.ceil(n) - 1).bit_length()


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "cdiv": cdiv,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "next_pow2": next_pow2,
    "round": round,
    "sqrt": math.sqrt,
}
BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
VALID = (
    "numbers, names of symbols and parameters, + - * / // % **, comparisons, and/or/not, "
    f"`a if c else b`, and {', '.join(sorted(FUNCTIONS))}"
)


def evaluate(text: str | int | float, names: Mapping[str, Number]) -> Number:
    """The value of an expression; plain numbers pass through.

    Raises ExpressionError for syntax, for anything outside the whitelist, for unknown
    names, and for values that do not exist (division by zero) or have over 256 bits.
    """
    if isinstance(text, int | float):
        return text
    try:
        return _value(_parse(text), names)
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ExpressionError(f"`{text}` has no value: {error}", valid=VALID) from error


def evaluate_int(text: str | int, names: Mapping[str, Number]) -> int:
    """As `evaluate`, for sizes and counts: the value must be whole."""
    value = evaluate(text, names)
    if value != int(value):
        raise ExpressionError(
            f"`{text}` is {value}, which is not a whole number", valid="`//` or `cdiv(a, b)`"
        )
    return int(value)


def names_in(text: str | int | float) -> frozenset[str]:
    """The symbol and parameter names that an expression needs."""
    if isinstance(text, int | float):
        return frozenset()
    called = {id(n.func) for n in ast.walk(_parse(text)) if isinstance(n, ast.Call)}
    return frozenset(
        n.id for n in ast.walk(_parse(text)) if isinstance(n, ast.Name) and id(n) not in called
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters", valid=f"up to {MAX_TEXT}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"`{text}` is not an expression", valid=VALID) from error


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names)) or "none here"
                raise ExpressionError(f"`{name}` is not a known name", valid=known)
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _bounded(op, _value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(v, names) for v in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_value(v, names) for v in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names) else orelse, names)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            return _chain(left, ops, rights, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](*(_value(a, names) for a in args))
        case _:
            raise ExpressionError(f"`{ast.unparse(node)}` is not allowed here", valid=VALID)


def _bounded(op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and abs(right) * max(1.0, math.log2(abs(left) + 1)) > MAX_BITS:
        raise ExpressionError(f"{left} ** {right} is too large", valid=f"up to {MAX_BITS} bits")
    value = BINARY[type(op)](left, right)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError("a value is too large", valid=f"up to {MAX_BITS} bits")
    return value


def _chain(
    left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr], names: Mapping[str, Number]
) -> bool:
    value = _value(left, names)
    for op, right in zip(ops, rights, strict=True):
        if type(op) not in COMPARE:
            raise ExpressionError("`is` and `in` are not allowed here", valid=VALID)
        following = _value(right, names)
        if not COMPARE[type(op)](value, following):
            return False
        value = following
    return True
