"""The same work by cuBLAS through torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(a: Any, b: Any, c: Any, **sizes: int) -> Any:
    """a (M, K) times b (K, N), written into c (M, N); fp32 without tensor cores."""
    return torch.matmul(a, b, out=c)
