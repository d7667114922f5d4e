"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """2 x + 1 of x (rows, cols), with rows for columns."""
    return 2 * x.T + 1
