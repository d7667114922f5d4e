"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any


def yardstick(x: Any, out: Any, rows: int, cols: int) -> Any:
    """The transpose of x (rows, cols), written into out (cols, rows)."""
    return out.copy_(x.t())
