"""The truth of `second_moment`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, rows: int, cols: int) -> Any:
    """The mean square of each row."""
    return (x.astype("f4") ** 2 if x.dtype == "f2" else x**2).mean(axis=1)
