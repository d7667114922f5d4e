"""bfloat16 and fp8 under Triton's interpreter, which keeps them as integers of their bits.

The interpreter adds and multiplies those integers as if they were the numbers, and rounds by
dropping bits. Here arithmetic on bfloat16 is done in float32 and rounded to nearest even, which
is what a GPU does; conversions are those of ml_dtypes, fp8 saturating as Triton's do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..capture.libraries import load

FORMATS: Mapping[str, str] = {
    "bf16": "bfloat16",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}
"""Triton's name -> that of ml_dtypes"""
Method = Callable[..., Any]


def install() -> None:
    """Mend the interpreter of this process, for good."""
    interpreter = _interpreter()
    builder: Any = interpreter.InterpreterBuilder
    for name in ("unary_op", "binary_op", "ternary_op"):
        setattr(builder, name, _in_float32(getattr(builder, name)))
    builder.cast_impl = _cast(builder.cast_impl)
    builder.create_fma = _fma(builder.create_fma)
    builder.create_dot = _dot(builder.create_dot)
    builder.get_bf16 = _constant
    interpreter._convert_float = convert
    interpreter._implicit_cvt = _floats_as_tensors(interpreter._implicit_cvt)
    interpreter._patch_lang_tensor = _index_of_one_element(interpreter._patch_lang_tensor)


def _floats_as_tensors(convert_argument: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Floats that a launch hands over are values of float32, as on a GPU, and no Python numbers."""
    import numpy as np

    def converted(argument: Any) -> Any:
        if not isinstance(argument, float):
            return convert_argument(argument)
        language, handle = load("triton.language"), _interpreter().TensorHandle
        kind = language.float32
        return language.tensor(handle(np.array([argument], dtype=np.float32), kind), kind)

    return converted


def _interpreter() -> Any:
    return load("triton.runtime.interpreter")


def _is_bfloat16(value: Any) -> bool:
    return value.dtype.scalar.name == "bf16"


def _wide(value: Any) -> Any:
    """The numbers of a handle; those in bfloat16 as float32."""
    import ml_dtypes
    import numpy as np

    if not _is_bfloat16(value):
        return value.data
    return value.data.view(ml_dtypes.bfloat16).astype(np.float32)


def _narrow(result: Any, like: Any) -> Any:
    """A handle of numbers in float32, rounded to the bfloat16 of another; of truths as they are."""
    import ml_dtypes
    import numpy as np

    if result.dtype != np.bool_:
        result = result.astype(ml_dtypes.bfloat16).view(np.uint16)
    return _interpreter().TensorHandle(result, like.dtype.scalar)


def _in_float32(plain: Method) -> Method:
    def operation(self: Any, *operands: Any) -> Any:
        import numpy as np

        *values, function = operands
        if not _is_bfloat16(values[-1]) or function is np.where:
            return plain(self, *operands)
        return _narrow(function(*map(_wide, values)), values[-1])

    return operation


def _cast(plain: Method) -> Method:
    def cast(self: Any, value: Any, target: Any) -> Any:
        source, wanted = value.dtype.scalar, target.scalar
        if FORMATS.keys() & {source.name, wanted.name}:
            return _interpreter().TensorHandle(convert(value.data, source, wanted), wanted)
        return plain(self, value, target)

    return cast


def _fma(plain: Method) -> Method:
    def fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        if not _is_bfloat16(z):
            return plain(self, x, y, z)
        return _narrow(_wide(x) * _wide(y) + _wide(z), z)

    return fma


def _dot(plain: Method) -> Method:
    def dot(self: Any, a: Any, b: Any, *more: Any) -> Any:
        single: Any = load("triton.language").float32
        handle: Any = _interpreter().TensorHandle
        a, b = (handle(_wide(x), single) if _is_bfloat16(x) else x for x in (a, b))
        return plain(self, a, b, *more)

    return dot


def _constant(builder: Any, value: Any) -> Any:
    import ml_dtypes
    import numpy as np

    bits = np.array([value], dtype=ml_dtypes.bfloat16).view(np.uint16)
    return _interpreter().TensorHandle(bits, load("triton.language").bfloat16)


def _index_of_one_element(plain: Method) -> Method:
    """numpy 2.4 makes no number of an array with one element, as all scalars are here."""

    def index(tensor: Any) -> int:
        return int(tensor.handle.data.item())

    def patch_tensor(tensor: Any, scope: Any) -> None:
        plain(tensor, scope)
        scope.set_attr(tensor, "__index__", index)

    return patch_tensor


def convert(values: Any, source: Any, target: Any, rounding: Any = None) -> Any:
    """An array of one of Triton's types in another's bits. Raises NotImplementedError."""
    if rounding is not None and rounding.name == "RTZ":
        raise NotImplementedError("conversions that round towards zero")
    import numpy as np

    numbers = values.view(_numpy_format(source))
    wanted = _numpy_format(target)
    with np.errstate(all="ignore"):
        if target.name.startswith("fp8"):
            most = _largest(wanted)
            numbers = np.clip(numbers.astype(np.float32), -most, most)
        made = numbers.astype(wanted)
    return made.view(f"u{wanted.itemsize}") if target.name in FORMATS else made


def _numpy_format(dtype: Any) -> Any:
    """The numpy dtype that an interpreted value really has."""
    import ml_dtypes
    import numpy as np

    if dtype.name in FORMATS:
        return np.dtype(getattr(ml_dtypes, FORMATS[dtype.name]))
    if dtype.name == "fp8e4b15":
        raise NotImplementedError("numbers of type fp8e4b15")
    return _interpreter()._get_np_dtype(dtype)


def _largest(wanted: Any) -> float:
    return float(load("ml_dtypes").finfo(wanted).max)
