"""The element types of a contract: their names, their sizes, their spelling in C++ and numpy.

numpy and ml_dtypes are imported when an array is made, not before: the server reads
specs without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DtypeName = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
]  # fmt: skip


OTHER_NAMES: Mapping[str, DtypeName] = {
    "float": "float32", "double": "float64", "half": "float16", "__half": "float16",
    "__nv_bfloat16": "bfloat16", "fp64": "float64", "fp32": "float32", "fp16": "float16",
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "char": "int8", "short": "int16", "int": "int32", "long": "int64", "long long": "int64",
    "unsigned": "uint32", "unsigned int": "uint32", "unsigned long": "uint64", "size_t": "uint64",
    "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64",
    "uint8_t": "uint8", "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
}  # fmt: skip
"""What they are called elsewhere, on 64-bit Linux: a near spelling is often another type."""


@dataclass(frozen=True, slots=True)
class Dtype:
    """One element type: bytes an element, spelling in C++ (None: no portable one), error scale.

    `floor` is the error, relative to the scale of a row, below which nobody asks whether a
    result is worse than the trusted one: reordering a sum of some thousand terms stays under
    it, computing in the next narrower type does not. None: compared exactly. See `error_floor`.

    That of float32 holds sums of 16384 terms, one after the other (an RMS of 2e-6 and up to
    2e-5 at the largest, for normal terms), and refuses TF32 products (an RMS of 2e-4 and more).
    """

    itemsize: int
    cpp: str | None
    floor: float | None


DTYPES: Mapping[str, Dtype] = {
    "float64": Dtype(8, "double", 1e-12),
    "float32": Dtype(4, "float", 4e-5),
    "float16": Dtype(2, "_Float16", 2e-3),
    "bfloat16": Dtype(2, None, 1.6e-2),
    "float8_e4m3fn": Dtype(1, None, 0.125),
    "float8_e5m2": Dtype(1, None, 0.25),
    "int64": Dtype(8, "std::int64_t", None),
    "int32": Dtype(4, "std::int32_t", None),
    "int16": Dtype(2, "std::int16_t", None),
    "int8": Dtype(1, "std::int8_t", None),
    "uint64": Dtype(8, "std::uint64_t", None),
    "uint32": Dtype(4, "std::uint32_t", None),
    "uint16": Dtype(2, "std::uint16_t", None),
    "uint8": Dtype(1, "std::uint8_t", None),
    "bool": Dtype(1, "bool", None),
}


SHORT_INPUTS_FLOOR = 2e-4
"""The floor of a float32 output whose float inputs have 16 bits or fewer.

Tensor cores add with truncation, so that the error grows linearly with the number of terms: on an
H100, products of fp16 with fp32 sums had an RMS of 2.5e-6 and 1.3e-5 at the largest for 2048
terms. Sums in fp16 are above this floor at their largest with 16 terms already.
"""
SHORT_BYTES = 2


def error_floor(output: str, inputs: Iterable[str]) -> float | None:
    """The error of an output that is always accepted, relative to its row's RMS.

    `output` and `inputs` are dtypes of a contract's arrays. None: compared exactly.
    """
    floats = [DTYPES[name].itemsize for name in inputs if is_float(name)]
    if output == "float32" and floats and max(floats) <= SHORT_BYTES:
        return SHORT_INPUTS_FLOOR
    return DTYPES[output].floor


TF32_MASK = 0xFFFFE000
"""Sign, exponent and the 10 bits of mantissa that tensor cores read of a float32."""


def truncated_to_tf32(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Float32 values as tensor cores read them when nobody rounds first: low bits are cleared.

    A new array of the same shape; infinities and NaN stay.
    """
    import numpy as np

    cut = (values.view(np.uint32) & np.uint32(TF32_MASK)).view(np.float32)
    return np.where(np.isnan(values), values, cut)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of that name; bfloat16 and fp8 come from ml_dtypes."""
    import numpy as np

    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


LARGEST: Mapping[str, float] = {
    "float64": 1.7976931348623157e308,
    "float32": 3.4028234663852886e38,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
}
"""The largest finite value of each float type."""


def value_range(name: str) -> tuple[int | float, int | float]:
    """The least and the largest finite value of a type."""
    if is_float(name):
        return -LARGEST[name], LARGEST[name]
    if name == "bool":
        return 0, 1
    bits = 8 * DTYPES[name].itemsize
    return (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def is_float(name: str) -> bool:
    """Whether values of this type are compared by error rather than exactly."""
    return DTYPES[name].floor is not None
