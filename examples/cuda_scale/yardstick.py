"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any


def yardstick(x: Any, factor: float, n: int) -> Any:
    """x (n,) multiplied by factor, in place."""
    return x.mul_(factor)
