"""The truth."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """The sum of x (n,), as an array of one."""
    return x.sum(keepdims=True)
