"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """x (rows, cols) with rows for columns."""
    return x.T
