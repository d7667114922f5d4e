"""C++ of expressions: in the types and the order of operations that the lift has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ......analysis.lift.expressions import (
    COMPARES,
    FLOATS,
    Call,
    DType,
    Expr,
    Fold,
    Load,
    Name,
    Number,
    Sum,
)

TYPES: Mapping[str, str] = {
    "float16": "__half", "float32": "float", "float64": "double", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long",
}  # fmt: skip
"""of elements in memory, by the contract's names"""
VALUES: Mapping[DType, str] = {
    "int": "long long", "bool": "bool", "f16": "__half", "f32": "float", "f64": "double",
}  # fmt: skip
"""of values that are kept"""
INFIX: Mapping[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "rem": "%", "and": "&&", "or": "||",
    "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
FUNCTIONS = frozenset(
    (
        "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 "
        "pow erf erfc sqrt rsqrt cbrt floor ceil trunc rint round fmod fma hypot copysign normcdf "
        "lgamma tgamma asinh acosh atanh erfinv rcbrt"
    ).split()
)
"""called by their names, with an f behind for float"""
FAST = frozenset("exp log log2 log10 sin cos tan pow exp10".split())


class Unwritable(Exception):
    """What a schedule cannot write, in words; told as a reason, and never leaves a move."""


@dataclass
class Writer:
    """Writes expressions: what each name, load and known value is called at the place."""

    names: Mapping[str, str]
    """of coordinates and what else is no parameter"""
    dtypes: Mapping[str, str]
    """contract types of arrays"""
    wide: bool = False
    """whether integers are of 64 bits: products of parameters are made so"""
    known: dict[Expr, str] = field(default_factory=dict[Expr, str])
    """expressions whose values have a name here"""
    load: Callable[[Load], str | None] = lambda _: None
    """what an element is called that was loaded before; None: it is loaded where it is used"""

    def text(self, expr: Expr, *, inside: bool = False) -> str:
        """An expression; `inside` another it stands in parentheses where it has operators. Raises
        Unwritable."""
        if expr in self.known:
            return self.known[expr]
        match expr:
            case Number():
                return number_text(expr)
            case Name(name):
                return self.names.get(name, name)
            case Sum():
                return self._sum(expr, inside=inside)
            case Load():
                return self._load(expr)
            case Call():
                return self._call(expr, inside=inside)
            case _:
                raise Unwritable("a loop or an address as a value")

    def _load(self, load: Load) -> str:
        found = self.load(load)
        if found is None:
            found = f"{load.array}[{self.text(load.index)}]"
        return as_value(found, self.dtypes.get(load.array, ""))

    def _sum(self, expr: Sum, *, inside: bool) -> str:
        words = list[str]()
        for factors, number in expr.terms:
            parts = [self.text(each, inside=True) for each in factors]
            if abs(number) != 1 or not parts:
                parts.append(str(abs(number)) if abs(number) < 1 << 31 else f"{abs(number)}LL")
            if self.wide and len(parts) > 1:
                parts[0] = f"(long long){parts[0]}"
            sign = "-" if number < 0 else "+"
            joined = " * ".join(parts)
            words += [sign, joined] if words else [f"-{joined}" if number < 0 else joined]
        return bracketed(" ".join(words), inside and (len(words) > 1 or " " in words[0]))

    def _call(self, expr: Call, *, inside: bool) -> str:
        op, args, dtype = expr.op, expr.args, expr.dtype
        if op == "select":
            condition, yes, no = args
            text = f"{self.text(condition, inside=True)} ? {self.text(yes, inside=True)} : "
            return bracketed(text + self.text(no, inside=True), inside)
        if op == "not":
            return f"!{self.text(args[0], inside=True)}"
        if op == "neg":
            return bracketed(f"-{self.text(args[0], inside=True)}", inside)
        if op in INFIX and len(args) == 2:
            left, right = (self.text(each, inside=True) for each in args)
            return bracketed(f"{left} {INFIX[op]} {right}", inside)
        if op[:2] in COMPARES and op[2:4] == "_u":
            kind = "unsigned long long" if op.endswith("64") else "unsigned"
            left, right = (self.text(each, inside=True) for each in args)
            return bracketed(f"({kind}){left} {INFIX[op[:2]]} ({kind}){right}", inside)
        if op == "cast":
            return self._cast(args[0], dtype)
        if op == "bits":
            return self._bits(args[0], dtype)
        if dtype in FLOATS or op == "isnan":
            return self._function(op, args, dtype)
        return self._integer(op, args, inside=inside)

    def _cast(self, value: Expr, dtype: DType) -> str:
        text = self.text(value, inside=True)
        if dtype == "f16":
            if value.dtype == "f64":
                return f"__double2half({text})"
            return f"__float2half({text if value.dtype == 'f32' else f'(float){text}'})"
        if value.dtype == "f16":
            text = f"__half2float({self.text(value)})"
            if dtype == "f32":
                return text
        return f"({'int' if dtype == 'int' else VALUES[dtype]}){text}"

    def _bits(self, value: Expr, dtype: DType) -> str:
        names = {
            ("int", "f32"): "__int_as_float", ("f32", "int"): "__float_as_int",
            ("int", "f64"): "__longlong_as_double", ("f64", "int"): "__double_as_longlong",
        }  # fmt: skip
        found = names.get((value.dtype, dtype))
        if found is None:
            raise Unwritable(f"bits of {value.dtype} as {dtype}")
        return f"{found}({self.text(value)})"

    def _function(self, op: str, args: tuple[Expr, ...], dtype: DType) -> str:
        given = [self.text(each) for each in args]
        suffix = "f" if dtype == "f32" else ""
        if dtype == "f16":
            names = {"max": "__hmax", "min": "__hmin", "abs": "__habs", "fma": "__hfma"}
            if op not in names:
                raise Unwritable(f"{op} in half precision")
            return f"{names[op]}({', '.join(given)})"
        if op in ("max", "min"):
            return f"f{op}{suffix}({', '.join(given)})"
        if op == "abs":
            return f"fabs{suffix}({given[0]})"
        if op == "rcp":
            return f"(1.0{suffix} / {self.text(args[0], inside=True)})"
        if op == "isnan":
            return f"(int)isnan({given[0]})"
        if op == "powi":
            return f"pow{suffix}({given[0]}, ({VALUES[dtype]}){self.text(args[1], inside=True)})"
        if op.startswith("fast_") and dtype == "f32":
            plain = op.removeprefix("fast_")
            if plain == "div":
                return f"__fdividef({', '.join(given)})"
            if plain in FAST:
                return f"__{plain}f({', '.join(given)})"
        if op not in FUNCTIONS:
            raise Unwritable(f"the operation {op}")
        return f"{op}{suffix}({', '.join(given)})"

    def _integer(self, op: str, args: tuple[Expr, ...], *, inside: bool) -> str:
        given = [self.text(each, inside=True) for each in args]
        if op in ("max", "min"):
            left, right = given
            sign = ">" if op == "max" else "<"
            return f"({left} {sign} {right} ? {left} : {right})"
        if op == "abs":
            return f"({given[0]} < 0 ? -{given[0]} : {given[0]})"
        if op == "bitnot":
            return f"~{given[0]}"
        if op == "elements":
            return bracketed(f"{given[0]} / {given[1]}", inside)
        kinds = {"8": "char", "16": "short", "32": "int", "64": "long long"}
        if op.startswith("wrap_") and op[6:] in kinds:
            sign = "unsigned " if op[5] == "u" else "signed "
            return f"(long long)({sign}{kinds[op[6:]]}){given[0]}"
        raise Unwritable(f"the operation {op}")


def as_value(text: str, dtype: str) -> str:
    """An element as a value: integers without sign are those of mathematics."""
    if dtype == "uint64":
        raise Unwritable("elements of uint64")
    return f"(long long){text}" if dtype == "uint32" else text


def number_text(number: Number) -> str:
    """A literal of the number's type."""
    value, dtype = number.value, number.dtype
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "int":
        return str(value) if abs(value) < 1 << 31 else f"{value}LL"
    if dtype == "f16":
        return f"__float2half({number_text(Number(float(value), 'f32'))})"
    if not math.isfinite(value):
        if dtype == "f32":
            bits = {1: "0x7f800000", -1: "0xff800000"}.get(_sign(value), "0x7fffffff")
            return f"__int_as_float({bits})"
        bits = {1: "0x7ff0000000000000LL", -1: "0xfff0000000000000LL"}
        return f"__longlong_as_double({bits.get(_sign(value), '0x7fffffffffffffffLL')})"
    text = str(np.float32(value)) if dtype == "f32" else repr(float(value))
    text = text if "." in text or "e" in text else f"{text}.0"
    return bracketed(f"{text}f" if dtype == "f32" else text, text.startswith("-"))


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def bracketed(text: str, inside: bool) -> str:
    """In parentheses where asked for."""
    return f"({text})" if inside else text


def unconditional(expr: Expr) -> Iterator[Expr]:
    """An expression and what beneath it is computed whenever it is: no side of a choice, and
    nothing within a loop but where it starts and ends."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        match here:
            case Sum(terms):
                pending += [factor for factors, _ in terms for factor in factors]
            case Call("select", (condition, _, _)):
                pending.append(condition)
            case Call("and" | "or", (left, _), "bool"):
                pending.append(left)
            case Call(_, args):
                pending += args
            case Load(_, index):
                pending.append(index)
            case Fold(_, _, count, carried):
                pending += [count, *(each.first for each in carried)]
            case _:
                pass


def everywhere(expr: Expr) -> Iterator[Expr]:
    """An expression and all beneath it, what is conditional too; folds are not entered."""
    pending = [expr]
    while pending:
        here = pending.pop()
        yield here
        match here:
            case Sum(terms):
                pending += [factor for factors, _ in terms for factor in factors]
            case Call(_, args):
                pending += args
            case Load(_, index):
                pending.append(index)
            case _:
                pass


def repeated(exprs: list[Expr]) -> list[Expr]:
    """Operations on floats that are written more than once and computed anyhow: worth a name each,
    the inner ones first."""
    certain = [each for expr in exprs for each in unconditional(expr)]
    counts = dict[Expr, int]()
    for expr in exprs:
        for each in everywhere(expr):
            counts[each] = counts.get(each, 0) + 1
    found = dict[Expr, int]()
    for each in certain:
        if isinstance(each, Call) and each.dtype in FLOATS and counts[each] > 1:
            found[each] = sum(1 for _ in everywhere(each))
    ordered = sorted(found, key=lambda each: found[each])
    return [each for each in ordered if not _only_within(each, ordered, counts)]


def _only_within(each: Expr, found: list[Expr], counts: Mapping[Expr, int]) -> bool:
    """Whether it is written only as a part of one other that has a name."""
    return any(
        other != each and counts[other] == counts[each] and each in set(everywhere(other))
        for other in found
    )
