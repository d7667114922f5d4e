"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, total: Any, **sizes: int) -> Any:
    """The sum of x (n,), written into total (1,)."""
    return torch.sum(x, dim=0, keepdim=True, out=total)
