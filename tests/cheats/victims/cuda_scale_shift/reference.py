"""The truth of `scale_shift`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, weight: Any, rows: int, cols: int) -> Any:
    """Each column of x times its weight, plus one."""
    return x * weight + 1
