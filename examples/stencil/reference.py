"""The truth for both stencil specs."""

from __future__ import annotations

import numpy as np


def reference(u: np.ndarray, H: int, W: int, alpha: float) -> np.ndarray:
    """One heat step on u (H, W) with insulated walls, in the type of u."""
    p = np.pad(u, 1, mode="edge")
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return u + u.dtype.type(alpha) * (around - 4 * u)
