"""The element types of a contract: their names, their sizes, their spelling in C++ and numpy.

numpy and ml_dtypes are imported when an array is made, not before: the server reads
specs without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np

DtypeName = Literal[
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8", "bool",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dtype:
    """One element type: bytes an element, spelling in C++ (None: no portable one), error scale.

    `floor` is the error, relative to the scale of a row, below which nobody asks whether a
    result is worse than the trusted one: reordering a sum of some thousand terms stays under
    it, computing in the next narrower type does not. None: compared exactly.
    """

    itemsize: int
    cpp: str | None
    floor: float | None


DTYPES: Mapping[str, Dtype] = {
    "float64": Dtype(8, "double", 1e-12),
    "float32": Dtype(4, "float", 1e-5),
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


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of that name; bfloat16 and fp8 come from ml_dtypes."""
    import numpy as np

    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def is_float(name: str) -> bool:
    """Whether values of this type are compared by error rather than exactly."""
    return DTYPES[name].floor is not None
