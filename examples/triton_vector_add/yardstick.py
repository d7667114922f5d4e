"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, y: Any, out: Any, n: int) -> Any:
    """x + y, written into out; all of shape (n,)."""
    return torch.add(x, y, out=out)
