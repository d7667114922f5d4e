"""The truth: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, y: Any, n: int) -> Any:
    """The sum of two arrays of shape (n,), in their type."""
    return x + y
