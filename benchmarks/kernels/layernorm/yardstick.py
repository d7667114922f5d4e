"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, weight: Any, bias: Any, y: Any, **sizes: int) -> Any:
    """LayerNorm along the rows of x (rows, cols)."""
    return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias, 1e-5)
