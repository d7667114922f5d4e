"""The truth of `layer_norm`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, rows: int, cols: int) -> Any:
    """Each row of x (rows, cols) less its mean, over the root of its variance and 1e-10."""
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(1e-10))
