"""The truth: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(x: Any, factor: float, n: int) -> Any:
    """factor times x (n,), in the type of x."""
    return factor * x
