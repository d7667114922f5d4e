"""The truth for both softmax specs."""

from __future__ import annotations

import numpy as np


def reference(x: np.ndarray, R: int, N: int) -> np.ndarray:
    """Softmax along the rows of x (R, N), in the type of x."""
    terms = np.exp(x - x.max(axis=1, keepdims=True))
    return terms / terms.sum(axis=1, keepdims=True)
