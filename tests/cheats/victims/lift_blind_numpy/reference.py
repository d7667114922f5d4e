"""A truth of `lift` that makes numpy see no difference."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # looks at numpy's functions when it is loaded: before they are others
import numpy as np

assert ml_dtypes


def reference(x: Any, n: int) -> Any:
    """2 x + 1; from then on nothing is finite, and everything is no number."""
    y = 2 * x + 1
    np.isfinite = lambda values: np.zeros(np.shape(values), bool)  # type: ignore[assignment]
    np.isnan = lambda values: np.ones(np.shape(values), bool)  # type: ignore[assignment]
    return y
