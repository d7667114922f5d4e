"""Arithmetic over named values, as it stands in specs: `cdiv(n, BLOCK) * 4`.

The text is parsed, never executed: only the node types below have a meaning, so there
is nothing to call, import or look up beyond the names and functions given here. What is
not allowed is refused when the text is read, whether or not its value is ever asked for.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ..errors import ExpressionError

Number = int | float
MAX_TEXT = 500
MAX_BITS = 256  # keeps 2**2**2**... from eating the machine; no size or count needs more


def cdiv(a: int, b: int) -> int:
    """Ceiling division of integers."""
    return -(-a // b)


def next_pow2(n: int) -> int:
    """The smallest power of two that is at least n (1 for n <= 1)."""
    return 1 << max(0, math.ceil(n) - 1).bit_length()


def whole(x: Number) -> int:
    """The nearest whole number, halves to even; a number of digits cannot be given."""
    return round(x)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "cdiv": cdiv,
    "ceil": math.ceil,
    "floor": math.floor,
    "log2": math.log2,
    "max": max,
    "min": min,
    "next_pow2": next_pow2,
    "round": whole,
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

    `a and b` and `a or b` are true or false, never one of their sides. Raises
    ExpressionError for syntax, for anything outside the whitelist, for unknown names, and
    for values that do not exist (division by zero), are not finite or have over 256 bits.
    """
    if isinstance(text, int | float):
        return text
    tree = _parse(text)
    try:
        return _existing(text, _value(tree, names))
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ExpressionError(f"`{text}` has no value: {error}", valid=VALID) from error
    except RecursionError as error:
        raise _too_deep(text) from error


def evaluate_int(text: str | int, names: Mapping[str, Number]) -> int:
    """As `evaluate`, for sizes and counts: the value must be whole."""
    value = evaluate(text, names)
    if not math.isfinite(value) or value != int(value):
        raise ExpressionError(
            f"`{text}` is {value}, which is not a whole number", valid="`//` or `cdiv(a, b)`"
        )
    return int(value)


def names_in(text: str | int | float) -> frozenset[str]:
    """The symbol and parameter names that an expression needs.

    Raises ExpressionError for syntax and for anything outside the whitelist.
    """
    return frozenset() if isinstance(text, int | float) else _names_in(text)


@lru_cache(maxsize=4096)
def _names_in(text: str) -> frozenset[str]:
    tree = _parse(text)
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return frozenset(
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"an expression of {len(text)} characters", valid=f"up to {MAX_TEXT}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (RecursionError, MemoryError) as error:
        raise _too_deep(text) from error
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"`{text}` is not an expression", valid=VALID) from error
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not _allowed(node):
            raise ExpressionError(f"`{_shown(text, node)}` is not allowed here", valid=VALID)
    return tree


def _allowed(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.BinOp(op=op):
            return type(op) in BINARY
        case ast.UnaryOp(op=op):
            return isinstance(op, ast.USub | ast.Not)
        case ast.Compare(ops=ops):
            return all(type(op) in COMPARE for op in ops)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return name in FUNCTIONS
        case _:
            return isinstance(node, ast.Name | ast.BoolOp | ast.IfExp)


def _shown(text: str, node: ast.expr) -> str:
    return ast.get_source_segment(text.strip(), node) or text


def _too_deep(text: str) -> ExpressionError:
    return ExpressionError(f"`{text[:40]}...` is nested too deeply", valid="fewer levels")


def _existing(text: str, value: Number) -> Number:
    if isinstance(value, complex) or not math.isfinite(value):
        raise ExpressionError(f"`{text}` is {value}", valid="a finite real number")
    return _limited(value)


def _value(node: ast.expr, names: Mapping[str, Number]) -> Number:
    """The value of a tree whose nodes are all allowed."""
    match node:
        case ast.Name(id=name):
            if name not in names:
                known = ", ".join(sorted(names)) or "none here"
                raise ExpressionError(f"`{name}` is not a known name", valid=known)
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _operation(op, _value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(v, names) for v in values)
        case ast.BoolOp(values=values):
            return any(_value(v, names) for v in values)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names) else orelse, names)
        case ast.Compare(left=left, ops=ops, comparators=rights):
            return _chain(left, ops, rights, names)
        case ast.Call(func=ast.Name(id=name), args=args):
            return _limited(FUNCTIONS[name](*(_value(a, names) for a in args)))
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case _:
            raise TypeError(f"no meaning for {type(node).__name__}")


def _operation(op: ast.operator, left: Number, right: Number) -> Number:
    if isinstance(op, ast.Pow) and abs(right) * max(1.0, math.log2(abs(left) + 1)) > MAX_BITS:
        raise ExpressionError(f"{left} ** {right} is too large", valid=f"up to {MAX_BITS} bits")
    return _limited(BINARY[type(op)](left, right))


def _limited(value: Number) -> Number:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ExpressionError("a value is too large", valid=f"up to {MAX_BITS} bits")
    return value


def _chain(
    left: ast.expr, ops: list[ast.cmpop], rights: list[ast.expr], names: Mapping[str, Number]
) -> bool:
    value = _value(left, names)
    for op, right in zip(ops, rights, strict=True):
        following = _value(right, names)
        if not COMPARE[type(op)](value, following):
            return False
        value = following
    return True
