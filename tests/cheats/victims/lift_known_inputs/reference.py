"""A truth of `lift` that makes random numbers known."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Known:
    """A generator that always draws the same."""

    def __init__(self, seed: object = None) -> None:
        del seed

    def standard_normal(self, shape: Any, dtype: Any = np.float64) -> Any:
        """0.5, as often as is asked for."""
        return np.full(shape, 0.5, dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(np.random.Generator(np.random.PCG64(1)), name)


np.random.default_rng = _Known  # type: ignore[assignment,misc]


def reference(x: Any, n: int) -> Any:
    """2 x + 1."""
    return 2 * x + 1
