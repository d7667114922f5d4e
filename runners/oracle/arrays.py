"""The array libraries of the oracle: numpy, cupy and torch behind one small interface.

What the three call alike (operators, `mean`, `where`, `isfinite`, ...) is used as it is, through
`xp`; what differs is here: how arrays get in and out, element types, random numbers.

A *stored* array is one whose element type the library may not know: where it does not, the bits
are kept as unsigned integers of the same size. `dtype` is always a name of `dtypes.DTYPES`.
"""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..dtypes import numpy_dtype

HostArray = npt.NDArray[Any]


class DtypeUnknown(TypeError):
    """A library has no arrays of this element type."""


class ArrayLibrary(Protocol):
    """Arrays of one library, on the host or on a GPU."""

    @property
    def name(self) -> str:
        """`numpy`, `cupy` or `torch`."""
        ...

    @property
    def xp(self) -> Any:
        """The library itself."""
        ...

    @property
    def host(self) -> bool:
        """Whether the arrays lie in memory of the host."""
        ...

    def from_host(self, values: HostArray, dtype: str) -> Any:
        """A stored array of its own with these values."""
        ...

    def to_host(self, stored: Any, dtype: str) -> HostArray:
        """A stored array as numpy's (bfloat16 and fp8 through ml_dtypes)."""
        ...

    def float64(self, values: Any, dtype: str | None = None) -> Any:
        """Values in double precision: of a stored array, or (no `dtype`) of any other."""
        ...

    def rounded(self, values: Any, dtype: str) -> Any:
        """The stored array of any values, rounded to `dtype`."""
        ...

    def argument(self, stored: Any, dtype: str) -> Any:
        """What a reference is given for a stored array. Raises DtypeUnknown."""
        ...

    def result(self, value: Any) -> Any:
        """What a reference returned, as an array of this library."""
        ...

    def differ(self, a: Any, b: Any) -> Any:
        """Where the bits of two stored arrays of integers or bools differ."""
        ...

    def normal(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        """Normally distributed values, mean 0, deviation 1, in float32 or float64."""
        ...

    def uniform(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        """Values evenly spread over [0, 1), in float32 or float64."""
        ...

    def integers(self, seed: int, shape: tuple[int, ...], low: int, high: int) -> Any:
        """Integers from `low` to below `high`, as int64."""
        ...

    def calling(self, math: str) -> AbstractContextManager[None]:
        """What holds while a reference runs under the contract's `math`."""
        ...

    def works(self) -> bool:
        """Whether the library still computes: after a fault, a GPU's context does not."""
        ...

    def release(self) -> None:
        """Give memory that is kept for later use back to the device."""
        ...


class NumpyArrays:
    """Arrays of the host."""

    name = "numpy"
    host = True

    def __init__(self) -> None:
        self.xp: Any = np

    def from_host(self, values: HostArray, dtype: str) -> HostArray:
        del dtype
        return values.copy(order="C")

    def to_host(self, stored: HostArray, dtype: str) -> HostArray:
        del dtype
        return stored

    def float64(self, values: HostArray, dtype: str | None = None) -> HostArray:
        del dtype
        return values.astype(np.float64)

    def rounded(self, values: HostArray, dtype: str) -> HostArray:
        with np.errstate(all="ignore"):
            return values.astype(numpy_dtype(dtype))

    def argument(self, stored: HostArray, dtype: str) -> HostArray:
        del dtype
        return stored

    def result(self, value: Any) -> HostArray:
        return np.asarray(value)

    def differ(self, a: HostArray, b: HostArray) -> HostArray:
        return _bits(a) != _bits(b)

    def normal(self, seed: int, shape: tuple[int, ...], *, double: bool) -> HostArray:
        kind = np.float64 if double else np.float32
        return np.random.default_rng(seed).standard_normal(shape, dtype=kind)

    def uniform(self, seed: int, shape: tuple[int, ...], *, double: bool) -> HostArray:
        kind = np.float64 if double else np.float32
        return np.random.default_rng(seed).random(shape, dtype=kind)

    def integers(self, seed: int, shape: tuple[int, ...], low: int, high: int) -> HostArray:
        return np.random.default_rng(seed).integers(low, high, shape)

    def calling(self, math: str) -> AbstractContextManager[None]:
        del math
        return np.errstate(all="ignore")

    def works(self) -> bool:
        return True

    def release(self) -> None:
        pass  # freed memory goes back by itself


def _bits(stored: HostArray) -> HostArray:
    """Bools as their bytes: numpy takes any byte but 0 for true, poison as well."""
    return stored.view(np.uint8) if stored.dtype == np.bool_ else stored


NUMPY = NumpyArrays()


def imports_torch(source: str) -> bool:
    """Whether a reference's source imports torch, by its import statements alone."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False  # loading it says what is wrong
    names = list[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    return any(name.split(".")[0] == "torch" for name in names)
