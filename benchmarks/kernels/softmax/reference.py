"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def reference(x: Any, **sizes: int) -> Any:
    """Softmax along the rows of x (rows, cols), in the type of x."""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
