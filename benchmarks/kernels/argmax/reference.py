"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """Where the largest value of each row of x (rows, cols) lies, the first of equals: (rows,)."""
    return x.argmax(axis=1)
