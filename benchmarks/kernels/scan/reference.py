"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """Running sums along the rows of x (rows, cols), each with its own element."""
    return x.cumsum(axis=1)
