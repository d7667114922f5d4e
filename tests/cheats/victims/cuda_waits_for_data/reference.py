"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, n: int) -> Any:
    """2 x + 1."""
    return 2 * x + 1
