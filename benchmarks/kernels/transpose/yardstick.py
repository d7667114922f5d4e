"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any


def yardstick(x: Any, y: Any, **sizes: int) -> Any:
    """The transpose of x (rows, cols), written into y (cols, rows)."""
    return y.copy_(x.t())
