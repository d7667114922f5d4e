"""Free-text names that mean one method: found offline, written down with the reason, reversible.

Sums are kept by the names as they were given; what is merged here is a view of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher

from ...runners.model import Record
from ..moves import ALIASES, CANONICAL

BY_HAND: Mapping[str, str] = {
    "loop_unrolling": "increase_ilp",
    "unroll_loops": "increase_ilp",
    "multiple_accumulators": "increase_ilp",
    "launch_bounds": "reduce_register_pressure",
    "smem_tiling": "shared_memory_tiling",
    "tile_in_shared_memory": "shared_memory_tiling",
    "l1_blocking": "cache_blocking",
    "loop_tiling": "cache_blocking",
    "openmp": "parallel_threads",
    "multithreading": "parallel_threads",
    "simd": "simd_vectorization",
    "auto_vectorization": "simd_vectorization",
}
"""beside the aliases of the catalogue, which free text is matched to as it comes in"""
ALIKE = 0.85
"""difflib's ratio from which two names are one, as where free text comes in"""
FILLING = frozenset(
    "a add an and apply by do enable for in into of on the to use using via with".split()
)
"""words that say nothing of what is done"""
OPPOSITES = (
    ("increase", "decrease"),
    ("increase", "reduce"),
    ("more", "fewer"),
    ("more", "less"),
    ("larger", "smaller"),
    ("split", "fuse"),
    ("split", "merge"),
    ("row", "column"),
    ("row", "col"),
    ("load", "store"),
    ("loads", "stores"),
    ("read", "write"),
    ("fp16", "fp32"),
    ("l1", "l2"),
    ("inner", "outer"),
)
"""words that set two names apart, however alike the rest is"""


class Synonym(Record):
    """A name that is counted under another."""

    into: str
    reason: str


def synonyms(counts: Mapping[str, int]) -> dict[str, Synonym]:
    """Names to merge, by name. `counts`: how often each was tried.

    An alias goes by the table. Any other name outside the catalogue goes to the one that it is most
    like, of the catalogue, the tables, and the names before it in order of count (the larger first)
    and spelling. A name that takes others in is never merged itself, so no chain arises.
    """
    kept, found = list(dict.fromkeys((*CANONICAL, *BY_HAND.values()))), dict[str, Synonym]()
    for name in sorted(counts, key=lambda each: (-counts[each], each)):
        if name in kept:
            continue
        merged = _merged(name, kept)
        if merged is None:
            kept.append(name)
        else:
            found[name] = merged
    return {name: found[name] for name in sorted(found)}


def alike(one: str, other: str) -> float:
    """How like two names are, 0 to 1: words in any order, filling words left out."""
    words, others = _words(one), _words(other)
    if any((a in words and b in others) or (b in words and a in others) for a, b in OPPOSITES):
        return 0.0
    if not words or not others:
        return float(one == other)
    return SequenceMatcher(None, " ".join(words), " ".join(others), autojunk=False).ratio()


def _merged(name: str, kept: Collection[str]) -> Synonym | None:
    for table, said in ((ALIASES, "alias of the catalogue"), (BY_HAND, "alias by hand")):
        if name in table:
            return Synonym(into=table[name], reason=said)
    best = max(kept, key=lambda each: alike(name, each))
    ratio = alike(name, best)
    return None if ratio < ALIKE else Synonym(into=best, reason=f"spelt alike ({ratio:.2f})")


def _words(name: str) -> list[str]:
    return sorted(set(name.split("_")) - FILLING)
