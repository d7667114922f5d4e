"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, rows: int, cols: int) -> Any:
    """The sum of each row of x (rows, cols)."""
    return x.sum(axis=1)
