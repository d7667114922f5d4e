"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(u: Any, **sizes: int) -> Any:
    """The mean of the four neighbours of each cell of u (rows, cols); the edge stays as it is."""
    out = u.copy()
    out[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return out
