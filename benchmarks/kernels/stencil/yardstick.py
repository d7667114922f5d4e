"""The same work by torch, on tensors of the GPU."""

from __future__ import annotations

from typing import Any


def yardstick(u: Any, out: Any, **sizes: int) -> Any:
    """A Jacobi step on u (rows, cols), written into out; in eager mode, a copy and four sums."""
    out.copy_(u)
    out[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return out
