"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any

import torch


def yardstick(x: Any, bias: Any, y: Any, **sizes: int) -> Any:
    """gelu(x + bias), the tanh approximation; in eager mode, an addition and a GELU."""
    return torch.nn.functional.gelu(x + bias, approximate="tanh")
