"""Operators of single elements, in C, as both C++ and CUDA take it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

FUNCTION = re.compile(r"(\w+)\(")
FLOAT, WHOLE, TRUTH = "float32", ("int64", "int32"), "bool"
DTYPES = (FLOAT, *WHOLE, TRUTH)

REMAINDER = "(fmodf({a}, {b}) + (fmodf({a}, {b}) * {b} < 0.0f ? {b} : 0.0f))"
"""of the divisor's sign, as Python has it"""
BINARY: Mapping[str, str] = {
    "aten.mul.Tensor": "({a} * {b})", "aten.mul.Scalar": "({a} * {b})",
    "aten.div.Tensor": "({a} / {b})",
    "aten.div.Scalar": "({a} / {b})",
    "aten.maximum.default": "fmaxf({a}, {b})", "aten.minimum.default": "fminf({a}, {b})",
    "aten.le.Scalar": "({a} <= {b})", "aten.le.Tensor": "({a} <= {b})",
    "aten.lt.Scalar": "({a} < {b})", "aten.lt.Tensor": "({a} < {b})",
    "aten.ge.Scalar": "({a} >= {b})", "aten.ge.Tensor": "({a} >= {b})",
    "aten.gt.Scalar": "({a} > {b})", "aten.gt.Tensor": "({a} > {b})",
    "aten.eq.Scalar": "({a} == {b})", "aten.eq.Tensor": "({a} == {b})",
    "aten.ne.Scalar": "({a} != {b})", "aten.ne.Tensor": "({a} != {b})",
    "aten.pow.Tensor_Tensor": "powf({a}, {b})", "aten.atan2.default": "atan2f({a}, {b})",
    "aten.remainder.Scalar": REMAINDER, "aten.remainder.Tensor": REMAINDER,
    "aten.fmod.Tensor": "fmodf({a}, {b})", "aten.fmod.Scalar": "fmodf({a}, {b})",
    "aten.logical_and.default": "({a} && {b})", "aten.logical_or.default": "({a} || {b})",
    "aten.bitwise_and.Tensor": "({a} && {b})", "aten.bitwise_or.Tensor": "({a} || {b})",
}  # fmt: skip
UNARY: Mapping[str, str] = {
    "aten.neg.default": "(-{a})", "aten.exp.default": "expf({a})", "aten.log.default": "logf({a})",
    "aten.sqrt.default": "sqrtf({a})", "aten.rsqrt.default": "(1.0f / sqrtf({a}))",
    "aten.tanh.default": "tanhf({a})", "aten.sigmoid.default": "(1.0f / (1.0f + expf(-{a})))",
    "aten.erf.default": "erff({a})", "aten.abs.default": "fabsf({a})",
    "aten.relu.default": "({a} > 0.0f ? {a} : 0.0f)", "aten.reciprocal.default": "(1.0f / {a})",
    "aten.sin.default": "sinf({a})", "aten.cos.default": "cosf({a})",
    "aten.expm1.default": "expm1f({a})", "aten.log1p.default": "log1pf({a})",
    "aten.tan.default": "tanf({a})", "aten.asin.default": "asinf({a})",
    "aten.acos.default": "acosf({a})", "aten.atan.default": "atanf({a})",
    "aten.sinh.default": "sinhf({a})", "aten.cosh.default": "coshf({a})",
    "aten.asinh.default": "asinhf({a})", "aten.acosh.default": "acoshf({a})",
    "aten.atanh.default": "atanhf({a})", "aten.erfc.default": "erfcf({a})",
    "aten.exp2.default": "exp2f({a})", "aten.log2.default": "log2f({a})",
    "aten.log10.default": "log10f({a})", "aten.floor.default": "floorf({a})",
    "aten.ceil.default": "ceilf({a})", "aten.trunc.default": "truncf({a})",
    "aten.round.default": "rintf({a})",
    "aten.sign.default": "(float)(({a} > 0.0f) - ({a} < 0.0f))",
    "aten.logical_not.default": "(!{a})", "aten.bitwise_not.default": "(!{a})",
    "aten.clone.default": "{a}", "aten.alias.default": "{a}",
    "aten.detach.default": "{a}", "aten.isnan.default": "({a} != {a})",
}  # fmt: skip
EASY = ("floorf", "ceilf", "truncf", "rintf", "fabsf", "fmaxf", "fminf")
DEAR = tuple(
    {f for each in (*UNARY.values(), *BINARY.values()) for f in FUNCTION.findall(each)} - {*EASY}
)
"""functions that nobody wants computed twice"""
OF_FLOAT = tuple(
    f"aten.{name}"
    for name in ("floor.default", "ceil.default", "trunc.default", "round.default",
                 "pow.Tensor_Tensor")
)  # fmt: skip
"""as these are written, of floats alone"""
OF_TRUTH = tuple(op for op in (*UNARY, *BINARY) if ".bitwise_" in op)
"""as these are written, of truth values alone"""
COPIES = ("aten._to_copy.default",)
ELEMENTWISE = frozenset(
    {*BINARY, *UNARY, *COPIES, "aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor",
     "aten.sub.Scalar", "aten.where.self", "aten.pow.Tensor_Scalar", "aten.clamp.default",
     "aten.scalar_tensor.default", "aten.full.default", "aten.arange.start_step"}
)  # fmt: skip

Read = Callable[[Any], str]
"""an argument of the operator as an expression, at the element that is computed"""


def element(
    op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], dtype: str, read: Read
) -> str:
    """One element of an operator's result. `dtype`: of the result. `read` is called in the order of
    the arguments. Raises KeyError for an operator that is none of `ELEMENTWISE`."""
    if op in COPIES:
        return f"(float)({read(args[0])})" if dtype == FLOAT else read(args[0])
    if op in UNARY:
        return UNARY[op].format(a=read(args[0]))
    if op in ("aten.mul.Tensor", "aten.div.Tensor") and args[1] in (1, 1.0):
        return read(args[0])
    if op in BINARY:
        return BINARY[op].format(a=read(args[0]), b=read(args[1]))
    return SPECIAL[op](args, kwargs, read)


def literal(value: Any) -> str:
    """A number as C has it, of type float where it is not whole."""
    if isinstance(value, dict):
        return "INFINITY" if value["float"] == "inf" else "(-INFINITY)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}.0f" if value >= 0 else f"(-{-value}.0f)"
    if math.isnan(value):
        return "NAN"
    return f"{value!r}f" if value >= 0 else f"(-{-value!r}f)"


def _sum(sign: str) -> Callable[[tuple[Any, ...], Mapping[str, Any], Read], str]:
    def made(args: tuple[Any, ...], kwargs: Mapping[str, Any], read: Read) -> str:
        first, second = read(args[0]), read(args[1])
        alpha = kwargs.get("alpha", 1)
        second = second if alpha == 1 else f"{literal(alpha)} * {second}"
        return f"({first} {sign} {second})"

    return made


def _where(args: tuple[Any, ...], _: Mapping[str, Any], read: Read) -> str:
    return f"({read(args[0])} ? {read(args[1])} : {read(args[2])})"


def _power(args: tuple[Any, ...], _: Mapping[str, Any], read: Read) -> str:
    base, exponent = read(args[0]), args[1]
    if exponent in (1, 2, 3):
        return "(" + " * ".join([base] * int(exponent)) + ")"
    return f"powf({base}, {literal(exponent)})"


def _clamp(args: tuple[Any, ...], _: Mapping[str, Any], read: Read) -> str:
    found = read(args[0])
    low, high = (*args[1:], None, None)[:2]
    found = found if low is None else f"fmaxf({found}, {literal(low)})"
    return found if high is None else f"fminf({found}, {literal(high)})"


SPECIAL: Mapping[str, Callable[[tuple[Any, ...], Mapping[str, Any], Read], str]] = {
    "aten.add.Tensor": _sum("+"),
    "aten.add.Scalar": _sum("+"),
    "aten.sub.Tensor": _sum("-"),
    "aten.sub.Scalar": _sum("-"),
    "aten.where.self": _where,
    "aten.pow.Tensor_Scalar": _power,
    "aten.clamp.default": _clamp,
    "aten.scalar_tensor.default": lambda args, kwargs, read: literal(args[0]),
    "aten.full.default": lambda args, kwargs, read: literal(args[1]),
}
