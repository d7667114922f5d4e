"""Numbers of a result as people read them in tables."""

from __future__ import annotations

from typing import Any


def times(ms: dict[str, float]) -> str:
    """Milliseconds of all workloads, to three digits."""
    return ", ".join(f"{value:.3g}" for value in ms.values())


def percents(shares: dict[str, float | None]) -> str:
    """Shares of all workloads in percent; `-` for one that is unknown."""
    return ", ".join("-" if s is None else f"{100 * s:.0f} %" for s in shares.values())


def speedup(row: dict[str, Any], prefix: str) -> str:
    """`1.2x (1.1 to 1.3)`; `none` where no variant was confirmed to be faster."""
    if f"{prefix}speedup" not in row:
        return "none"
    value, low, high = (row[f"{prefix}{part}"] for part in ("speedup", "low", "high"))
    return f"{value:.3g}x ({low:.3g} to {high:.3g})"
