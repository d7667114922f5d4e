"""The truth of `mean_level`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, rows: int, cols: int) -> Any:
    """The mean of each row."""
    return x.mean(axis=1)
