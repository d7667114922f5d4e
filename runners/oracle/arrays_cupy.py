"""Arrays of cupy, which speak NumPy's language on the GPU but know no bfloat16 and no fp8."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..dtypes import DTYPES, numpy_dtype
from .arrays import NUMPY, DtypeUnknown, HostArray


class CupyArrays:
    """bfloat16 and fp8 are kept as their bits.

    `xp` is cupy, or any module with its interface; `fetch` brings one of its arrays to the host,
    `free` gives memory back.
    """

    name = "cupy"
    host = False

    def __init__(
        self, xp: Any, fetch: Callable[[Any], HostArray], free: Callable[[], None]
    ) -> None:
        self.xp = xp
        self._free = free
        self._fetch = fetch
        self._float8 = dict[str, Any]()

    def from_host(self, values: HostArray, dtype: str) -> Any:
        bits = _bits(dtype)
        return self.xp.array(values if bits is None else np.ascontiguousarray(values).view(bits))

    def to_host(self, stored: Any, dtype: str) -> HostArray:
        return self._fetch(stored).view(numpy_dtype(dtype))

    def float64(self, values: Any, dtype: str | None = None) -> Any:
        if dtype is None or _bits(dtype) is None:
            return values.astype(np.float64)
        if dtype == "bfloat16":  # the upper half of a float32
            return (values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if dtype not in self._float8:
            every = np.arange(256, dtype=np.uint8).view(numpy_dtype(dtype))
            self._float8[dtype] = self.xp.array(every.astype(np.float64))
        return self._float8[dtype][values]

    def rounded(self, values: Any, dtype: str) -> Any:
        if dtype == "bfloat16":
            return self._bfloat16(values.astype(np.float32))
        if _bits(dtype) is not None:
            return self.from_host(NUMPY.rounded(self._fetch(values), dtype), dtype)
        with np.errstate(all="ignore"):
            return values.astype(numpy_dtype(dtype))

    def _bfloat16(self, values: Any) -> Any:
        """The bits of float32 values, rounded to the nearest, ties to the even one."""
        bits = values.view(np.uint32)
        nearest = (bits + ((bits >> 16) & 1) + 0x7FFF) >> 16
        quiet = (bits >> 16) | 0x40  # rounding could turn a NaN into an infinity
        return self.xp.where(self.xp.isnan(values), quiet, nearest).astype(np.uint16)

    def argument(self, stored: Any, dtype: str) -> Any:
        if _bits(dtype) is not None:
            raise DtypeUnknown(f"cupy has no {dtype}")
        return stored

    def result(self, value: Any) -> Any:
        return self.xp.asarray(value)

    def differ(self, a: Any, b: Any) -> Any:
        if a.dtype == np.bool_:  # bytes: any but 0 would be true, poison as well
            a, b = a.view(np.uint8), b.view(np.uint8)
        return a != b

    def normal(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        kind = np.float64 if double else np.float32
        return self.xp.random.default_rng(seed).standard_normal(shape, dtype=kind)

    def uniform(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        kind = np.float64 if double else np.float32
        return self.xp.random.default_rng(seed).random(shape, dtype=kind)

    def integers(self, seed: int, shape: tuple[int, ...], low: int, high: int) -> Any:
        return self.xp.random.default_rng(seed).integers(low, high, shape)

    def calling(self, math: str) -> AbstractContextManager[None]:
        del math  # cupy multiplies float32 in float32
        return np.errstate(all="ignore")

    def works(self) -> bool:
        try:
            return int(self.xp.arange(3).sum()) == 3
        except Exception:  # whatever it is called, the context is gone
            return False

    def release(self) -> None:
        self._free()


def _bits(dtype: str) -> Any:
    """The type that holds the bits of a `dtype` unknown to cupy; None: it is known."""
    if dtype == "bfloat16" or dtype.startswith("float8"):
        return np.dtype(f"u{DTYPES[dtype].itemsize}")
    return None
