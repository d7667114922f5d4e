"""Domains of sizes for a spec that is written from a source: which sizes are legal, as a proposal.

Nothing in a source says how large a size may be. Without a domain only listed workloads are legal,
so that no other shape can be tried: no ragged end, no size of 1, and without a GPU no logic check.
A draft that a person reads and saves so proposes one; what is opened from a source alone gets none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .completing import Draft
from .left_open import OPEN

LARGEST = {1: 1 << 26, 2: 1 << 16}
"""by the most sizes that an array has in which a symbol stands; indices of 32 bits reach so far"""
LARGEST_OF_MORE = 1 << 10


def with_domains(found: Draft) -> Draft:
    """The draft with a domain for each size that has none."""
    data, symbols = found.data, dict[str, Any](found.data.get("symbols") or {})
    for name, domain in symbols.items():
        if domain is None:
            symbols[name] = {"min": 1, "max": max(_largest(name, data), _used(name, data))}
    return replace(found, data={**data, "symbols": symbols})


def _largest(name: str, data: dict[str, Any]) -> int:
    sizes = [a["shape"] for a in data["io"]["arguments"] if "shape" in a]
    ranks = [len(shape) for shape in sizes if any(name in str(size) for size in shape)]
    ranks += [2] * ([OPEN] in sizes)  # an array of which nothing is known may be a matrix
    return LARGEST.get(max(ranks, default=2), LARGEST_OF_MORE)


def _used(name: str, data: dict[str, Any]) -> int:
    """The largest value of a workload; one that is open, or has not been said, is none."""
    values = [w.get("symbols", {}).get(name, OPEN) for w in data["workloads"]]
    return max((v for v in values if isinstance(v, int)), default=1)
