"""Functions of CUDA's mathematical library by their names in PTX, and what they compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .expressions import DType, Expr, Unreadable, call
from .machine import as_type

_SAME = (
    "exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan tanh sinh cosh asin acos atan atan2 pow "
    "erf erfc sqrt rsqrt cbrt floor ceil trunc rint round fmod fma hypot copysign normcdf lgamma "
    "tgamma asinh acosh atanh erfinv rcbrt"
).split()
_FAST = "exp log log2 log10 sin cos tan pow exp10".split()


class Known(NamedTuple):
    """A function of the library."""

    op: str
    dtype: DType
    """of the result"""
    takes: tuple[DType, ...]


def _table() -> dict[str, Known]:
    found = dict[str, Known]()
    two, three = {"atan2", "pow", "fmod", "hypot", "copysign"}, {"fma"}
    for suffix, dtype in (("f", "f32"), ("", "f64")):
        kind: DType = "f32" if dtype == "f32" else "f64"

        def add(name: str, op: str, count: int, kind: DType = kind) -> None:
            found[name] = Known(op, kind, (kind,) * count)

        for op in _SAME:
            add(f"{op}{suffix}", op, 2 if op in two else 3 if op in three else 1)
        for name, op, count in (("fabs", "abs", 1), ("fmax", "max", 2), ("fmin", "min", 2)):
            add(f"{name}{suffix}", op, count)
        letter = "f" if suffix else "d"
        for name in ("add", "sub", "mul", "div"):
            add(f"{letter}{name}_rn", name, 2)
        found[f"powi{suffix}"] = Known("powi", kind, (kind, "int"))
        found[f"isnan{letter}"] = Known("isnan", "int", (kind,))
    for op in _FAST:
        count = 2 if op == "pow" else 1
        found[f"fast_{op}f"] = Known(f"fast_{op}", "f32", ("f32",) * count)
    found["fast_fdividef"] = Known("fast_div", "f32", ("f32", "f32"))
    for prefix in ("", "u", "ll", "ull"):
        for op in ("max", "min"):
            found[f"{prefix}{op}"] = Known(op, "int", ("int", "int"))
    found |= {name: Known("abs", "int", ("int",)) for name in ("abs", "llabs")}
    found["int_as_float"] = Known("bits", "f32", ("int",))
    found["float_as_int"] = Known("bits", "int", ("f32",))
    return found


KNOWN = _table()


def known_function(name: str) -> Known | None:
    """What a function of PTX computes, None for one that is not of the library."""
    return KNOWN.get(name.removeprefix("__nv_")) if name.startswith("__nv_") else None


def applied(function: Known, args: Sequence[Expr]) -> Expr:
    """The call as an expression. Raises Unreadable."""
    if len(args) != len(function.takes):
        raise Unreadable(f"{function.op} of {len(args)} values")
    values = [as_type(each, kind) for each, kind in zip(args, function.takes, strict=True)]
    if function.op == "bits":
        return as_type(values[0], function.dtype)
    return call(function.op, *values, dtype=function.dtype)
