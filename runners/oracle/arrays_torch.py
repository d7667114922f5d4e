"""Tensors of torch, on the host or on a GPU."""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..dtypes import numpy_dtype
from .arrays import HostArray

REDUCED_SUMS = (
    "allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduced_precision_reduction",
    "allow_fp16_accumulation",
)
"""switches of torch.backends.cuda.matmul; which of them exist depends on torch's version"""


class TorchArrays:
    """`torch` is the module, `device` one of its device names: `cpu` or `cuda`."""

    name = "torch"

    def __init__(self, torch: Any, device: str) -> None:
        self.xp = torch
        self.host = device == "cpu"
        self._device = device

    def from_host(self, values: HostArray, dtype: str) -> Any:
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of read-only memory: it is copied
            shared = self.xp.from_numpy(raw)
        tensor = shared.to(self._device, copy=True)
        return tensor.view(getattr(self.xp, dtype)).reshape(values.shape)

    def to_host(self, stored: Any, dtype: str) -> HostArray:
        raw = stored.contiguous().reshape(-1).view(self.xp.uint8).cpu().numpy()
        return raw.view(numpy_dtype(dtype)).reshape(tuple(stored.shape))

    def float64(self, values: Any, dtype: str | None = None) -> Any:
        del dtype
        return values.to(self.xp.float64)

    def rounded(self, values: Any, dtype: str) -> Any:
        return values.to(getattr(self.xp, dtype))

    def argument(self, stored: Any, dtype: str) -> Any:
        del dtype
        return stored

    def result(self, value: Any) -> Any:
        return self.xp.as_tensor(value, device=self._device).detach()

    def differ(self, a: Any, b: Any) -> Any:
        return self._comparable(a) != self._comparable(b)

    def _comparable(self, stored: Any) -> Any:
        """Bits as signed integers: torch compares few unsigned types everywhere."""
        size = stored.element_size()
        return stored.view(getattr(self.xp, f"int{8 * size}"))

    def normal(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        return self.xp.randn(shape, **self._drawing(seed, double=double))

    def uniform(self, seed: int, shape: tuple[int, ...], *, double: bool) -> Any:
        return self.xp.rand(shape, **self._drawing(seed, double=double))

    def integers(self, seed: int, shape: tuple[int, ...], low: int, high: int) -> Any:
        how = self._drawing(seed, double=False) | {"dtype": self.xp.int64}
        return self.xp.randint(low, high, shape, **how)

    def _drawing(self, seed: int, *, double: bool) -> dict[str, Any]:
        generator = self.xp.Generator(self._device).manual_seed(seed)
        kind = self.xp.float64 if double else self.xp.float32
        return {"generator": generator, "dtype": kind, "device": self._device}

    @contextmanager
    def calling(self, math: str) -> Generator[None]:
        """New tensors on our device, sums in full precision, TF32 unless `math` is ieee."""
        matmul, cudnn = self.xp.backends.cuda.matmul, self.xp.backends.cudnn
        matmul.allow_tf32 = cudnn.allow_tf32 = math != "ieee"
        for name in REDUCED_SUMS:
            if hasattr(matmul, name):
                setattr(matmul, name, False)
        with self.xp.device(self._device):
            yield
        if not self.host:
            self.xp.cuda.synchronize()  # so that a fault shows here, where it belongs

    def works(self) -> bool:
        try:
            return int(self.xp.arange(3, device=self._device).sum()) == 3
        except Exception:  # whatever it is called, the context is gone
            return False

    def release(self) -> None:
        if not self.host:
            self.xp.cuda.empty_cache()
