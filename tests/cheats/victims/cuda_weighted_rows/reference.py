"""The truth of `weighted_rows`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, weight: Any, rows: int, cols: int) -> Any:
    """The sum of each row of x, weighted."""
    return (x * weight).sum(1)
