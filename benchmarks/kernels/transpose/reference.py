"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """The transpose of x (rows, cols)."""
    return x.T
