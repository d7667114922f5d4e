"""The truth of `weighted_norm`."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, weight: Any, bias: Any, rows: int, cols: int) -> Any:
    """Each row over its root mean square, times weight, plus bias."""
    root = np.sqrt((x * x).mean(axis=1, keepdims=True) + x.dtype.type(1e-5))
    return x / root * weight + bias
