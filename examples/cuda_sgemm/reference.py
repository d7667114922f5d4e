"""The truth: works on numpy and on cupy arrays."""

from __future__ import annotations

from typing import Any


def reference(A: Any, B: Any, M: int, N: int, K: int) -> Any:
    """A (M, K) times B (K, N), in the type of the inputs."""
    return A @ B
