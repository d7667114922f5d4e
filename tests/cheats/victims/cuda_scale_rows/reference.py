"""The truth of `scale_rows`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, rows: int, cols: int, pitch: int) -> Any:
    """Twice x (rows, cols)."""
    return 2 * x
