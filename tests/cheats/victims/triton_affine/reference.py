"""The truth of `affine`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, weight: Any, bias: Any, rows: int, cols: int) -> Any:
    """Each row times weight, plus bias."""
    return x * weight + bias
