"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, y: Any, **sizes: int) -> Any:
    """Running sums along the rows of x, written into y; both of shape (rows, cols)."""
    return torch.cumsum(x, dim=1, out=y)
