"""C++ of expressions: in the types and the order of operations that the lift has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ......analysis.lift.expressions import DType, Expr, Number
from ....shared.lifted.c_expressions import CWriter, Unwritable, bracketed

TYPES: Mapping[str, str] = {
    "float16": "__half", "bfloat16": "__nv_bfloat16", "float32": "float", "float64": "double",
    "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "int16": "short", "uint16": "unsigned short",
    "int32": "int", "uint32": "unsigned", "int64": "long long", "uint64": "unsigned long long",
}  # fmt: skip
"""of elements in memory, by the contract's names"""
VALUES: Mapping[DType, str] = {
    "int": "long long", "bool": "bool", "f16": "__half", "bf16": "__nv_bfloat16",
    "f32": "float", "f64": "double",
}  # fmt: skip
"""of values that are kept"""
SHORT: Mapping[str, str] = {"f16": "half", "bf16": "bfloat16"}
"""types of 16 bits, by what CUDA's conversions call them"""
FUNCTIONS = frozenset(
    (
        "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 "
        "pow erf erfc sqrt rsqrt cbrt floor ceil trunc rint round fmod fma hypot copysign normcdf "
        "lgamma tgamma asinh acosh atanh erfinv rcbrt"
    ).split()
)
"""called by their names, with an f behind for float"""
FAST = frozenset("exp log log2 log10 sin cos tan pow exp10".split())


@dataclass
class Writer(CWriter):
    """Writes expressions for the device."""

    wide: bool = False
    """whether integers are of 64 bits: products of parameters are made so"""

    def product(self, parts: list[str], factors: tuple[Expr, ...]) -> str:
        """Of integers."""
        if self.wide and len(parts) > 1:
            parts = [f"(long long){parts[0]}", *parts[1:]]
        return " * ".join(parts)

    def number(self, number: Number) -> str:
        """A literal of the number's type."""
        return number_text(number)

    def cast(self, value: Expr, dtype: DType) -> str:
        """A value as another type."""
        text = self.text(value, inside=True)
        if dtype in SHORT:
            if value.dtype == "f64":
                return f"__double2{SHORT[dtype]}({text})"
            return f"__float2{SHORT[dtype]}({text if value.dtype == 'f32' else f'(float){text}'})"
        if value.dtype in SHORT:
            text = f"__{SHORT[value.dtype]}2float({self.text(value)})"
            if dtype == "f32":
                return text
        return f"({'int' if dtype == 'int' else VALUES[dtype]}){text}"

    def bits(self, value: Expr, dtype: DType) -> str:
        """The bits of a value as another type."""
        names = {
            ("int", "f32"): "__int_as_float", ("f32", "int"): "__float_as_int",
            ("int", "f64"): "__longlong_as_double", ("f64", "int"): "__double_as_longlong",
            ("f16", "int"): "(long long)__half_as_ushort", ("int", "f16"): "__ushort_as_half",
            ("bf16", "int"): "(long long)__bfloat16_as_ushort",
            ("int", "bf16"): "__ushort_as_bfloat16",
        }  # fmt: skip
        found = names.get((value.dtype, dtype))
        if found is None:
            raise Unwritable(f"bits of {value.dtype} as {dtype}")
        return f"{found}({self.text(value)})"

    def function(self, op: str, args: tuple[Expr, ...], dtype: DType) -> str:
        """A function of floats."""
        given = [self.text(each) for each in args]
        suffix = "f" if dtype == "f32" else ""
        if dtype in SHORT:
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


def number_text(number: Number) -> str:
    """A literal of the number's type."""
    value, dtype = number.value, number.dtype
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "int":
        return str(value) if abs(value) < 1 << 31 else f"{value}LL"
    if dtype in SHORT:
        return f"__float2{SHORT[dtype]}({number_text(Number(float(value), 'f32'))})"
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
