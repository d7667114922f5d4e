"""The truth of `gather`."""

from __future__ import annotations

from typing import Any


def reference(x: Any, index: Any, n: int) -> Any:
    """x in the order that the index says."""
    return x[index]
