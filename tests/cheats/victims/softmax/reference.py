"""The truth of `softmax`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, rows: int, cols: int) -> Any:
    """exp(x) over its sum along each row of x (rows, cols)."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
