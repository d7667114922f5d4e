"""The same work by cuBLAS through torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(a: Any, b: Any, c: Any, **sizes: int) -> Any:
    """a[i] (M, K) times b[i] (K, N), written into c[i] (M, N); fp32 without tensor cores."""
    return torch.matmul(a, b, out=c)
