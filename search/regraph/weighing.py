"""From what was measured to factors on the priors of candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from .posterior import Posteriors

LEAST: Final = 0.25
MOST: Final = 4.0
"""bounds of a factor: what other kernels measured may turn the order of candidates round, and never
keeps one from being tried"""


def unweighed(method: str, way: str) -> float:
    """Of any way, where none is weighed."""
    return 1.0


def way_weights(known: Posteriors, language: str) -> Callable[[str, str], float]:
    """By method and way, the factor on a candidate's prior beside that of its method, within
    LEAST..MOST: the ways that were ahead of others on other kernels come first (`way_worth.py`)."""
    worth = known.ways(language)

    @cache
    def factor(method: str, way: str) -> float:
        return worth.factor(known.regraph.name(method), way, LEAST, MOST) if way else 1.0

    return factor


def regraph_weights(
    known: Posteriors,
    previous_method: str,
    bottleneck: str,
    arch: str,
    language: str,
    *,
    hard: bool = False,
) -> Mapping[str, float]:
    """By method, the factor on a candidate's prior; 1 where a method is not named.

    The log2 gain that one more try is expected to add to the best (`Posterior.expected`: chance of
    being right times mean improvement), over that of the average method, kept within LEAST..MOST.
    Little evidence leaves it near 1, as the posterior stays near the average's.

    `hard`: methods that were tried somewhere, and never after this previous one, get 0: they are to
    be left out. Where nothing at all was tried after it, that says nothing, and none does.
    """
    average = known.average().expected
    place = {"previous": previous_method, "bottleneck": bottleneck, "arch": arch}
    after = known.after(previous_method) if hard else frozenset[str]()
    factors = dict[str, float]()
    for method in known.methods:
        expected = known.expect(method=method, language=language, **place).expected
        factors[method] = min(max(expected / average, LEAST), MOST)
        if after and method not in after:
            factors[method] = 0.0
    other = {name: factors[found.into] for name, found in known.regraph.merged.items()
             if found.into in factors}  # fmt: skip
    return factors | other
