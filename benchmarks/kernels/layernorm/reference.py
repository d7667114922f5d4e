"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, weight: Any, bias: Any, **sizes: int) -> Any:
    """x (rows, cols), each row with mean 0 and deviation 1, times weight plus bias (cols,)."""
    wide = x.astype(np.promote_types(x.dtype, np.float32))
    centred = wide - wide.mean(axis=1, keepdims=True)
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return (centred / np.sqrt(variance + 1e-5) * weight + bias).astype(x.dtype)
