"""The truth for every spec here: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, **sizes: int) -> Any:
    """The sum of x (n,) as an array of one element, in the type of x."""
    return x.sum(keepdims=True)
