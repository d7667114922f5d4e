"""Free-text names that mean one method: found offline, written down with the reason, reversible.

Sums are kept by the names as they were given; what is merged here is a view of them. What somebody
said of a name (`labels.py`) goes before what rules make of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache

from ...runners.model import Record
from ..moves import ALIASES, CANONICAL
from .labels import Label, targets
from .likeness import SURE, Likeness, texts_of

BY_HAND: Mapping[str, str] = {
    "loop_unrolling": "increase_ilp",
    "unroll_loops": "increase_ilp",
    "multiple_accumulators": "increase_ilp",
    "launch_bounds": "reduce_register_pressure",
    "smem_tiling": "shared_memory_tiling",
    "tile_in_shared_memory": "shared_memory_tiling",
    "l1_blocking": "tile_loops",
    "loop_tiling": "tile_loops",
    "cache_blocking": "tile_loops",
    "openmp": "parallelise",
    "multithreading": "parallelise",
    "parallel_threads": "parallelise",
    "simd": "vectorise_loops",
    "simd_vectorization": "vectorise_loops",
    "auto_vectorization": "vectorise_loops",
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


def synonyms(counts: Mapping[str, int], labels: Sequence[Label] = ()) -> dict[str, Synonym]:
    """Names to merge, by name. `counts`: how often each was tried.

    What a label says holds; then an alias goes by the table. Any other name outside the catalogue
    goes to the one that it is most like, of the catalogue, the tables, and the names before it in
    order of count (the larger first) and spelling, else to the method of the catalogue whose
    meaning its words have. What is left is a method of its own, which later names may mean: so the
    catalogue grows. A name that takes others in is never merged itself, so no chain arises.
    """
    said = {name: _by_rules(label) for name, label in targets(labels).items()}
    told = {name: each for name, each in said.items() if each.into != name}
    standing = (*CANONICAL, *BY_HAND.values(), *(each.into for each in told.values()), *said)
    kept = [name for name in dict.fromkeys(standing) if name not in told]
    found = dict[str, Synonym]()
    for name in sorted(counts, key=lambda each: (-counts[each], each)):
        if name in told:
            found[name] = told[name]
        elif name not in kept:
            merged = _merged(name, kept)
            if merged is None:
                kept.append(name)
            else:
                found[name] = _further(merged, told)
    return {name: found[name] for name in sorted(found)}


def _further(merged: Synonym, told: Mapping[str, Synonym]) -> Synonym:
    """Where rules lead to a name that was said to mean another, that one."""
    said = told.get(merged.into)
    return merged if said is None else merged.model_copy(update={"into": said.into})


def alike(one: str, other: str) -> float:
    """How like two names are, 0 to 1: words in any order, filling words left out."""
    words, others = _words(one), _words(other)
    if opposed(words, others):
        return 0.0
    if not words or not others:
        return float(one == other)
    return SequenceMatcher(None, " ".join(words), " ".join(others), autojunk=False).ratio()


def by_tables(name: str) -> Synonym | None:
    """What the tables of aliases say of a name."""
    for table, said in ((ALIASES, "alias of the catalogue"), (BY_HAND, "alias by hand")):
        if name in table:
            return Synonym(into=table[name], reason=said)
    return None


def _by_rules(label: Label) -> Synonym:
    """What a label says; a target that is an alias itself stands for its method."""
    into = label.into
    if into != label.name and (known := by_tables(into)) is not None:
        into = known.into
    by = "said by hand" if label.by == "hand" else "said by a model"
    return Synonym(into=into, reason=f"{by}: {label.reason}" if label.reason else by)


def _merged(name: str, kept: Collection[str]) -> Synonym | None:
    known = by_tables(name)
    if known is not None:
        return known
    best = max(kept, key=lambda each: alike(name, each))
    ratio = alike(name, best)
    if ratio >= ALIKE:
        return Synonym(into=best, reason=f"spelt alike ({ratio:.2f})")
    method, cosine = meant(name)
    return None if cosine < SURE else Synonym(into=method, reason=f"words alike ({cosine:.2f})")


def meant(name: str) -> tuple[str, float]:
    """The method of the catalogue whose text is most like a name, and how like, 0 to 1; never one
    whose own name says the opposite."""
    method, cosine = _catalogue().nearest(name)
    return (method, cosine) if method and not opposed(_words(name), _words(method)) else ("", 0.0)


@cache
def _catalogue() -> Likeness:
    meanings = ((method.id, method.meaning) for method in CANONICAL.values())
    return Likeness(texts_of(meanings, {**ALIASES, **BY_HAND}))


def opposed(words: Collection[str], others: Collection[str]) -> bool:
    """Whether the words of two names contradict each other."""
    return any((a in words and b in others) or (b in words and a in others) for a, b in OPPOSITES)


def _words(name: str) -> list[str]:
    return sorted(set(name.split("_")) - FILLING)
