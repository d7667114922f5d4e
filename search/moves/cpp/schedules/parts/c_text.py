"""C++ of expressions for the host: functions of the standard library, indices of 64 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ......analysis.lift.expressions import Call, DType, Expr, Load, Name, Number
from ....shared.lifted.c_expressions import INFIX, CWriter, Unwritable, bracketed

TYPES: Mapping[str, str] = {
    "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "bool": "bool", "int16": "short", "uint16": "unsigned short", "int32": "int",
    "uint32": "unsigned", "int64": "long",
}  # fmt: skip
"""of elements in memory, by the contract's names"""
VALUES: Mapping[DType, str] = {"int": "long", "bool": "bool", "f32": "float", "f64": "double"}
"""of values that are kept"""
FUNCTIONS = frozenset(
    (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 pow "
        "erf erfc sqrt cbrt floor ceil trunc rint round fmod fma hypot copysign lgamma tgamma "
        "asinh acosh atanh"
    ).split()
)
"""of <cmath>, by their names"""
_BINDS = {
    "mul": 5, "div": 5, "rem": 5, "add": 4, "sub": 4, "lt": 3, "le": 3, "gt": 3, "ge": 3, "eq": 3,
    "ne": 3, "and": 2, "or": 1,
}  # fmt: skip
_LOOSE = frozenset({"select", "neg", "not", *INFIX})
_TIGHT = 6


@dataclass
class Writer(CWriter):
    """Writes expressions for the host. Loop variables are of 64 bits."""

    loops: dict[str, str] = field(default_factory=dict[str, str])
    """what the indices of the lift are called here; shared with `names`"""
    headers: set[str] = field(default_factory=set[str])
    """that what was written needs"""
    constants: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """name and value of each constant that was asked for, by the name that was wanted"""
    fresh: Callable[[str], str] = str
    """a free name like the one that is wanted"""

    def constant(self, wanted: str, value: int) -> str:
        """The name of a constant of the function, one for all that want it."""
        if wanted not in self.constants:
            self.constants[wanted] = (self.fresh(wanted), value)
        return self.constants[wanted][0]

    def text(self, expr: Expr, *, inside: bool = False) -> str:
        """As of every writer, without parentheses that precedence makes needless."""
        expr = expr if expr in self.known else _spelled(expr)
        if isinstance(expr, Call) and expr not in self.known and expr.op in _BINDS:
            left, right = expr.args
            mine = _BINDS[expr.op] + (expr.op == "or") * 2  # compilers want `a || (b && c)`
            one = self.text(left, inside=self._binding(left) < mine)
            other = self.text(right, inside=self._binding(right) <= mine)
            return bracketed(f"{one} {INFIX[expr.op]} {other}", inside)
        text = super().text(expr, inside=inside)
        is_loop = isinstance(expr, Name) and not inside and text.startswith("(")
        return text[1:-1] if is_loop else text  # `k + lane` alone

    def _binding(self, expr: Expr) -> int:
        """How tightly what an expression is written as holds together."""
        if expr in self.known or isinstance(expr, Name | Load | Number):
            return _TIGHT
        expr = _spelled(expr)
        if isinstance(expr, Call):
            return _BINDS.get(expr.op, 0 if expr.op in _LOOSE else _TIGHT)
        return 0

    def product(self, parts: list[str], factors: tuple[Expr, ...]) -> str:
        """Loop variables first, which have 64 bits; a product of sizes alone is made to have."""
        moving = [self._is_loop(each) for each in factors] + [False] * (len(parts) - len(factors))
        ordered = [p for p, loop in zip(parts, moving, strict=True) if loop]
        ordered += [p for p, loop in zip(parts, moving, strict=True) if not loop]
        if len(factors) > 1 and not any(moving):
            ordered[0] = f"(long){ordered[0]}"
        if len(ordered) == 1:  # `k + lane` in a sum
            return ordered[0][1:-1] if moving[0] and ordered[0][0] == "(" else ordered[0]
        return " * ".join(ordered)

    def _is_loop(self, factor: Expr) -> bool:
        return isinstance(factor, Name) and factor.name in self.loops

    def number(self, number: Number) -> str:
        """A literal of the number's type."""
        value, dtype = number.value, number.dtype
        if dtype == "bool":
            return "true" if value else "false"
        if dtype == "int":
            return str(value) if abs(value) < 1 << 31 else f"{value}L"
        if not math.isfinite(value):
            self.headers.add("<cmath>")
            name = "NAN" if math.isnan(value) else "INFINITY"
            return f"-{name}" if value < 0 else name
        text = str(np.float32(value)) if dtype == "f32" else repr(float(value))
        text = text if "." in text or "e" in text else f"{text}.0"
        return bracketed(f"{text}f" if dtype == "f32" else text, text.startswith("-"))

    def cast(self, value: Expr, dtype: DType) -> str:
        """A value as another type; a float becomes an int as in C."""
        if isinstance(value, Call) and value.op == "trunc" and dtype == "int":
            value = value.args[0]  # what a cast does anyhow
        return f"({'int' if dtype == 'int' else VALUES[dtype]}){self.text(value, inside=True)}"

    def bits(self, value: Expr, dtype: DType) -> str:
        """No kernel of the host should need them."""
        raise Unwritable(f"bits of {value.dtype} as {dtype}")

    def function(self, op: str, args: tuple[Expr, ...], dtype: DType) -> str:
        """A function of floats by its name in <cmath>."""
        given = [self.text(each) for each in args]
        self.headers.add("<cmath>")
        if op in ("max", "min"):
            return f"std::f{op}({', '.join(given)})"
        if op == "abs":
            return f"std::fabs({given[0]})"
        if op == "isnan":
            return f"(int)std::isnan({given[0]})"
        if op == "powi":
            return f"std::pow({given[0]}, ({VALUES[dtype]}){self.text(args[1], inside=True)})"
        if op not in FUNCTIONS:
            raise Unwritable(f"the operation {op}")
        return f"std::{op}({', '.join(given)})"


def _spelled(expr: Expr) -> Expr:
    """Operations that C++ has no name for by those that it has."""
    match expr:
        case Call("rcp", (value,), dtype):
            return Call("div", (Number(1.0, dtype), value), dtype)
        case Call("rsqrt", args, dtype):
            return Call("div", (Number(1.0, dtype), Call("sqrt", args, dtype)), dtype)
        case _:
            return expr
