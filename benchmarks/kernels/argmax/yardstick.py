"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, index: Any, **sizes: int) -> Any:
    """Where the largest value of each row of x (rows, cols) lies, as int64; of equals, any."""
    return torch.argmax(x, dim=1)
