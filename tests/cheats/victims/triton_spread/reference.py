"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, rows: int, **sizes: int) -> Any:
    """2 x + 1 (cols,), in each of (rows, cols)."""
    return (2 * x + 1).reshape(1, -1).repeat(rows, 0)
