"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, weight: Any, y: Any, **sizes: int) -> Any:
    """RMSNorm along the rows of x (rows, cols)."""
    return torch.nn.functional.rms_norm(x, (x.shape[1],), weight, 1e-6)
