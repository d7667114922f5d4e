"""Operations of lifted expressions on arrays of numpy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .expressions import COMPARES, FLOATS, DType, Unreadable

Array = npt.NDArray[Any]
TYPES: Mapping[DType, type[np.generic]] = {
    "int": np.int64, "bool": np.bool_, "f16": np.float16, "bf16": np.float32,
    "f32": np.float32, "f64": np.float64,
}  # fmt: skip
_BITS: Mapping[tuple[DType, DType], tuple[type[np.generic], type[np.generic]]] = {
    ("int", "f32"): (np.int32, np.float32), ("f32", "int"): (np.float32, np.int32),
    ("int", "f64"): (np.int64, np.float64), ("f64", "int"): (np.float64, np.int64),
    ("int", "f16"): (np.int16, np.float16), ("f16", "int"): (np.float16, np.int16),
}  # fmt: skip


def _by_element(function: Callable[[float], float]) -> Callable[..., Array]:
    made = np.vectorize(function, otypes=[float])

    def applied(value: Array) -> Array:
        return made(value.astype(np.float64))

    return applied


def _rsqrt(value: Array) -> Array:
    return 1 / np.sqrt(value)


def _rcp(value: Array) -> Array:
    return 1 / value


def _fma(left: Array, right: Array, added: Array) -> Array:
    return left * right + added


def _exp10(value: Array) -> Array:
    return np.power(10.0, value)


def _round(value: Array) -> Array:
    return np.copysign(np.floor(np.abs(value) + 0.5), value)


_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "abs": np.abs,
    "max": np.fmax, "min": np.fmin, "sqrt": np.sqrt, "rsqrt": _rsqrt,
    "rcp": _rcp, "fma": _fma, "pow": np.power, "powi": np.power,
    "exp": np.exp, "exp2": np.exp2, "exp10": _exp10, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint, "fmod": np.fmod,
    "round": _round, "hypot": np.hypot,
    "copysign": np.copysign, "erf": _by_element(math.erf), "erfc": _by_element(math.erfc),
}  # fmt: skip
_COMPARES: Mapping[str, np.ufunc] = {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal, "and": np.logical_and, "or": np.logical_or,
    "not": np.logical_not,
}  # fmt: skip
_WHOLE: Mapping[str, Callable[..., Any]] = {
    "max": np.maximum, "min": np.minimum, "abs": np.abs, "bitand": np.bitwise_and,
    "bitor": np.bitwise_or, "bitxor": np.bitwise_xor, "bitnot": np.invert,
    "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip


def operate(op: str, args: Sequence[Array], dtype: DType) -> Array:
    """The operation at every place. Raises Unreadable for one that has no meaning here."""
    if op in _COMPARES:
        return _COMPARES[op](*args)
    if op[:2] in COMPARES and op[2:4] == "_u":
        mask = np.uint64((1 << int(op[4:])) - 1)
        left, right = (np.asarray(each).astype(np.uint64) & mask for each in args)
        return np.asarray(_COMPARES[op[:2]](left, right))
    if op == "cast":
        made = np.asarray(args[0]).astype(TYPES[dtype])
        return brain(made) if dtype == "bf16" else made
    if op == "bits":
        return _as_bits(args[0], dtype)
    if op in ("div", "rem") and dtype == "int":
        return _divided(op, *args)
    found = _of_floats(op, args, dtype) if dtype in FLOATS else _of_integers(op, args)
    if found is None:
        raise Unreadable(f"the operation {op} is not interpreted")
    return found


def _of_floats(op: str, args: Sequence[Array], dtype: DType) -> Array | None:
    """In the type of the result, whatever numpy computes in; `fast_exp` is `exp`."""
    name = op.removeprefix("fast_")
    function = np.divide if name == "div" else _FUNCTIONS.get(name)
    if function is None:
        return None
    made = np.asarray(function(*args)).astype(TYPES[dtype])
    return brain(made) if dtype == "bf16" else made


def brain(value: Array) -> Array:
    """Rounded to bfloat16, ties to even, as float32: numpy has no such type."""
    bits = np.ascontiguousarray(value, dtype=np.float32).view(np.uint32)
    made = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(
        0xFFFF0000
    )
    return np.where(np.isnan(value), value, made.view(np.float32).reshape(value.shape))


def _of_integers(op: str, args: Sequence[Array]) -> Array | None:
    if op in _WHOLE:
        return _WHOLE[op](*args)
    if op == "isnan":
        return np.isnan(args[0]).astype(np.int64)
    if op == "elements":
        return np.floor_divide(*args)
    if op.startswith("wrap_"):
        kind = f"{'u' if op[5] == 'u' else ''}int{op[6:]}"
        return args[0].astype(kind).astype(np.int64)
    return None


def _as_bits(value: Array, dtype: DType) -> Array:
    of: DType = "int" if value.dtype.kind in "iu" else f"f{value.dtype.itemsize * 8}"  # type: ignore[assignment]
    found = _BITS.get((of, dtype))
    if found is None:
        raise Unreadable(f"bits of {of} as {dtype}")
    made = np.ascontiguousarray(value.astype(found[0])).view(found[1]).reshape(value.shape)
    return made.astype(TYPES[dtype])


def _divided(op: str, left: Array, right: Array) -> Array:
    """Towards zero, as C has it; by zero, where no place is alive, zero."""
    by = np.where(right == 0, 1, right)
    whole = np.abs(left) // np.abs(by) * np.where((left < 0) != (by < 0), -1, 1)
    return whole if op == "div" else left - whole * by
