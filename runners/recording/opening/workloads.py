"""Recorded launches as workloads: their sizes, with the number of launches as weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .observed import Observed
from .sizes import Sizes

FEWEST_TO_HOLD_OUT, MOST = 3, 32


def workloads_of(launches: Sequence[Observed], sizes: Sizes) -> list[dict[str, Any]]:
    """One for each set of sizes, named as the first launch that has them, the most frequent ones
    first; of three or more the rarest is held out, which judges the winner alone."""
    merged = dict[tuple[int, ...], dict[str, Any]]()
    for index, observed in enumerate(launches):
        symbols = sizes.values(index)
        name = observed.kept.label.replace("-", "_")
        found = merged.setdefault(
            tuple(symbols.values()), {"name": name, "symbols": symbols, "weight": 0}
        )
        found["weight"] += max(1, observed.count)
    made = sorted(merged.values(), key=lambda w: -w["weight"])[:MOST]
    if len(made) >= FEWEST_TO_HOLD_OUT:
        made[-1]["held_out"] = True
    return made
