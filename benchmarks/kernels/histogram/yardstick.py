"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(values: Any, bins: Any, **sizes: int) -> Any:
    """256 counts of values (n,), as int64; it first asks the GPU for the largest value."""
    return torch.bincount(values, minlength=256)
