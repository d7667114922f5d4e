"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, weight: Any, **sizes: int) -> Any:
    """x (rows, cols) over the root of the mean square of its row, times weight (cols,)."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    mean_square = (wide * wide).mean(axis=1, keepdims=True)
    return (wide / np.sqrt(mean_square + 1e-6) * weight).astype(x.dtype)
