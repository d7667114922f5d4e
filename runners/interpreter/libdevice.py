"""Functions of libdevice under the interpreter.

Triton fills them in when it compiles; interpreted, they are stubs that return None. Here they are
NumPy's, computed in double precision and rounded once, as near to the truth as libdevice is. What
is not among them is told as something that the interpreter cannot do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..capture.libraries import load

Function = Callable[..., Any]


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


ONE: Mapping[str, Function] = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin,
    "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh, "cbrt": np.cbrt,
    "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "erf": np.vectorize(math.erf, otypes="d"),
    "erfc": np.vectorize(math.erfc, otypes="d"), "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "floor": np.floor, "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "nearbyint": np.rint, "rint": np.rint, "rsqrt": _rsqrt,
    "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc,
}  # fmt: skip
TWO: Mapping[str, Function] = {
    "atan2": np.arctan2, "copysign": np.copysign, "fmod": np.fmod, "hypot": np.hypot,
    "pow": np.power,
}  # fmt: skip
TRUTH: Mapping[str, Function] = {"isinf": np.isinf, "isnan": np.isnan, "signbit": np.signbit}
FLOATS = ("fp16", "fp32", "fp64")


def install() -> None:
    """Put them where the stubs are, for this process."""
    stubs = load("triton.language.extra.libdevice")
    held: dict[str, Any] = {**stubs.__dict__}
    for name, value in held.items():
        if callable(value) and not name.startswith("_"):
            setattr(stubs, name, _function(name))


def _function(name: str) -> Function:
    function = ONE.get(name) or TWO.get(name) or TRUTH.get(name)

    def call(*given: Any, **_: Any) -> Any:
        first = next((each for each in given if hasattr(each, "handle")), None)
        if function is None or first is None or str(first.dtype) not in FLOATS:
            raise NotImplementedError(f"libdevice.{name} is not interpreted")
        with np.errstate(all="ignore"):
            made = np.asarray(function(*(_numbers(each) for each in given)))
        return _tensor(made, first, truth=name in TRUTH)

    return call


def _numbers(value: Any) -> Any:
    return np.asarray(value.handle.data if hasattr(value, "handle") else value, dtype=np.float64)


def _tensor(made: Any, like: Any, *, truth: bool) -> Any:
    core = load("triton.language.core")
    scalar = core.int1 if truth else like.dtype
    data = made.astype(np.bool_ if truth else like.handle.data.dtype)
    data = data.reshape(np.broadcast_shapes(data.shape, like.handle.data.shape))
    handle = load("triton.runtime.interpreter").TensorHandle(data, scalar)
    shape = [int(n) for n in getattr(like.type, "shape", ())]
    return core.tensor(handle, core.block_type(scalar, shape) if shape else scalar)
