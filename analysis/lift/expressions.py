"""What a lifted kernel computes: expressions over sizes, indices and elements of arrays.

Integers are those of mathematics, not of 32 or 64 bits; whether that is true of a kernel at the
sizes that are looked at, the interpreter shows (`interpreting.py`). Those that are sums of products
have one form each (`sums.py`), so that two that are equal are the same value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

DType = Literal["int", "bool", "f16", "bf16", "f32", "f64"]
FLOATS = ("f16", "bf16", "f32", "f64")
MAX_NODES = 20_000
"""of one expression, beyond which it is not worth reading"""


class Unreadable(Exception):
    """What a part of a kernel does that cannot be lifted, in words; never leaves `lift`."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant; truth is an int of type bool."""

    value: int | float
    dtype: DType = "int"

    def __eq__(self, other: object) -> bool:
        """By bits: a NaN is itself, and minus zero is not zero."""
        return isinstance(other, Number) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str]:
        return self.dtype, repr(self.value)


@dataclass(frozen=True, slots=True)
class Name:
    """A size, a coordinate of a thread, an index of a dimension or loop, or a value of a loop."""

    name: str
    dtype: DType = "int"


@dataclass(frozen=True, slots=True)
class Sum:
    """An integer as a sum of products: pairs of the factors, in order, and a number."""

    terms: tuple[tuple[tuple[Expr, ...], int], ...]
    dtype: DType = "int"


@dataclass(frozen=True, slots=True)
class Call:
    """An operation: `add` of floats, `lt`, `select`, `exp`, `cast` ..."""

    op: str
    args: tuple[Expr, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Load:
    """An element of an array; `index` counts elements."""

    array: str
    index: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address within an array; `offset` counts bytes. Only while a kernel is read."""

    array: str
    offset: Expr
    dtype: DType = "int"


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that a loop carries from one iteration to the next."""

    name: str
    dtype: DType
    first: Expr
    next: Expr
    """over the names that the loop carries and its index"""


@dataclass(frozen=True, slots=True)
class Fold:
    """What a loop leaves in the carried value `which` after `count` iterations (none when that is
    negative), `index` going from 0."""

    kind: str
    """sum, product, max, min, argmax, argmin, or recurrence: anything else"""
    index: str
    count: Expr
    carried: tuple[Carried, ...]
    which: int

    @property
    def dtype(self) -> DType:
        """Of the value."""
        return self.carried[self.which].dtype


Expr = Number | Name | Sum | Call | Load | Pointer | Fold

TRUE, FALSE = Number(1, "bool"), Number(0, "bool")
ZERO, ONE = Number(0), Number(1)


def parts(expr: Expr) -> tuple[Expr, ...]:
    """What an expression is directly made of."""
    match expr:
        case Sum(terms):
            return tuple(factor for factors, _ in terms for factor in factors)
        case Call(_, args):
            return args
        case Load(_, index):
            return (index,)
        case Pointer(_, offset):
            return (offset,)
        case Fold(_, _, count, carried):
            return (count, *(e for each in carried for e in (each.first, each.next)))
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """An expression and all beneath it, from left to right. Raises Unreadable for one that is too
    long."""
    pending, seen = [expr], 0
    while pending:
        here = pending.pop()
        seen += 1
        if seen > MAX_NODES:
            raise Unreadable("an expression is too long")
        yield here
        pending += reversed(parts(here))


def names_in(expr: Expr) -> set[str]:
    """Every name in an expression, those that a loop within it carries among them."""
    return {each.name for each in walk(expr) if isinstance(each, Name)}


_NOT = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
COMPARES = frozenset(_NOT)


def negation(condition: Expr) -> Expr:
    """What is true where a condition is not. Of floats only `eq` and `ne` have an opposite: with a
    NaN neither `lt` nor `ge` holds."""
    match condition:
        case Number(value, "bool"):
            return FALSE if value else TRUE
        case Call("not", (inner,)):
            return inner
        case Call(op, (left, right)) if op in _NOT and (
            op in ("eq", "ne") or left.dtype not in FLOATS
        ):
            return call(_NOT[op], left, right, dtype="bool")
        case Call("and", (left, right)):
            return call("or", negation(left), negation(right), dtype="bool")
        case Call("or", (left, right)):
            return call("and", negation(left), negation(right), dtype="bool")
        case _:
            return Call("not", (condition,), "bool")


def not_negative(value: Expr) -> bool:
    """Whether an integer surely is none below zero: coordinates of threads, what is made of them
    by addition and multiplication, and sizes, which a kernel's contract counts."""
    match value:
        case Number(number):
            return number >= 0
        case Name(name):
            return not name.startswith("~")
        case Sum(terms):
            return all(
                number > 0 and all(not_negative(each) for each in factors)
                for factors, number in terms
            )
        case Call("div" | "rem" | "min" | "bitand", args):
            return all(not_negative(each) for each in args)
        case Call("max", args):
            return any(not_negative(each) for each in args)
        case _:
            return False


def call(op: str, *args: Expr, dtype: DType) -> Expr:
    """An operation, simplified where its arguments say what it is."""
    if op == "not":
        return negation(args[0])
    if op in ("and", "or") and dtype == "bool":
        return _joined(op, *args)
    if op == "select":
        return _selected(*args, dtype=dtype)
    if op == "cast" and args[0].dtype == dtype:
        return args[0]
    if op == "cast" and dtype in FLOATS and isinstance(args[0], Number) and dtype[-2:] != "16":
        return (
            Number(float(args[0].value), dtype) if args[0].dtype == "int" else Call(op, args, dtype)
        )
    if op in COMPARES and all(isinstance(each, Number) and each.dtype == "int" for each in args):
        left, right = (each.value for each in args if isinstance(each, Number))
        return TRUE if _holds(op, left, right) else FALSE
    if op == "neg" and isinstance(args[0], Number) and dtype in FLOATS:
        return Number(-args[0].value, dtype)
    if "_u" in op and op[:2] in COMPARES and all(map(not_negative, args)):
        return call(op[:2], *args, dtype=dtype)
    if op in ("shr", "bitand") and isinstance(args[1], Number) and not_negative(args[0]):
        return _by_bits(op, args[0], int(args[1].value))
    if op in ("div", "rem") and dtype == "int":
        return _divided(op, *args)
    return _of_choice(op, args, dtype) or Call(op, args, dtype)


def _of_choice(op: str, args: tuple[Expr, ...], dtype: DType) -> Expr | None:
    """An operation on one of two numbers as one of two results: compilers make numbers of truth."""
    if op not in COMPARES and op not in ("bitand", "bitor", "bitxor"):
        return None
    one, other = args
    if not isinstance(one, Call) or one.op != "select" or not isinstance(other, Number):
        return None
    condition, *sides = one.args
    if one.dtype != "int" or not any(isinstance(each, Number) for each in sides):
        return None
    made = [
        _by_numbers(op, each, other)
        if isinstance(each, Number)
        else call(op, each, other, dtype=dtype)
        for each in sides
    ]
    return _selected(condition, *made, dtype=dtype)


def _by_numbers(op: str, left: Number, right: Number) -> Expr:
    one, other = int(left.value), int(right.value)
    if op in COMPARES:
        return TRUE if _holds(op, one, other) else FALSE
    return Number({"bitand": one & other, "bitor": one | other, "bitxor": one ^ other}[op])


def _holds(op: str, left: float, right: float) -> bool:
    order = (left > right) - (left < right)
    return {
        "lt": order < 0, "le": order <= 0, "gt": order > 0,
        "ge": order >= 0, "eq": order == 0, "ne": order != 0,
    }[op]  # fmt: skip


def _joined(op: str, left: Expr, right: Expr) -> Expr:
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    if absorbing in (left, right):
        return absorbing
    if left == neutral or left == right:
        return right
    return left if right == neutral else Call(op, (left, right), "bool")


def _selected(condition: Expr, yes: Expr, no: Expr, *, dtype: DType) -> Expr:
    if isinstance(condition, Number):
        return yes if condition.value else no
    if yes == no:
        return yes
    if dtype == "bool" and isinstance(no, Number):
        left = negation(condition) if no.value else condition
        return _joined("or" if no.value else "and", left, yes)
    if dtype == "bool" and isinstance(yes, Number):
        left = condition if yes.value else negation(condition)
        return _joined("or" if yes.value else "and", left, no)
    if isinstance(condition, Call) and condition.op == "not":
        return _selected(condition.args[0], no, yes, dtype=dtype)
    return Call("select", (condition, yes, no), dtype)


def _by_bits(op: str, value: Expr, number: int) -> Expr:
    """Shifts and masks of what is not negative are divisions by a power of two and their rests."""
    if op == "shr":
        return _divided("div", value, Number(1 << number))
    if number > 0 and not number & (number + 1):
        return _divided("rem", value, Number(number + 1))
    return Call(op, (value, Number(number)), "int")


def _divided(op: str, left: Expr, right: Expr) -> Expr:
    if right == ONE:
        return left if op == "div" else ZERO
    if isinstance(left, Number) and isinstance(right, Number) and right.value:
        whole = math.trunc(left.value / right.value)
        return Number(whole if op == "div" else int(left.value - whole * right.value))
    if isinstance(left, Sum) and isinstance(right, Number) and right.value > 0:
        by = int(right.value)
        if all(number % by == 0 for _, number in left.terms):
            return ZERO if op == "rem" else _one_of(left, by)
    return Call(op, (left, right), "int")


def _one_of(whole: Sum, parts: int) -> Expr:
    """A sum whose every product is a multiple, divided."""
    terms = tuple((factors, number // parts) for factors, number in whole.terms)
    (factors, number) = terms[0]
    alone = len(terms) == 1 and number == 1 and len(factors) == 1
    return factors[0] if alone else Sum(terms)


def conjuncts(condition: Expr) -> tuple[Expr, ...]:
    """The conditions that hold together where one holds."""
    if isinstance(condition, Call) and condition.op == "and":
        return tuple(each for part in condition.args for each in conjuncts(part))
    return () if condition == TRUE else (condition,)


def all_of(conditions: tuple[Expr, ...]) -> Expr:
    """The conjunction."""
    found: Expr = TRUE
    for each in conditions:
        found = call("and", found, each, dtype="bool")
    return found
