"""How often what was proposed gave machine code that the search knew already, and what to expect of
what is not tried yet. Facts of the graph's edges, so a search that is resumed expects the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...runners.model import Candidate
    from .nodes import Edge

STRENGTH: Final = 0.25
"""tries that the broader expectation counts as: a quarter, so that one build that gave known code
lowers its method to a fifth at once, and one that did not raises it again; a rule of thumb"""
ENOUGH: Final = 2
"""tries of the same words, each to known code, after which they are put aside for the search; a
rule of thumb: a flag that changed nothing in two variants is about code that no variant has"""
Key = tuple[str, ...]
"""a method, or a method with the words for what it does"""


class KnownCode:
    """Counts of one search. Candidates are looked at once something has met known code: a large
    search that is resumed, or one without twins, reads none for it."""

    def __init__(self) -> None:
        self.heeded = False
        """whether expectations fall: for planners by rule. What somebody was asked for is tried
        before they are asked again."""
        self.version = 0
        """changes whenever an expectation may have"""
        self._waiting: list[tuple[Edge, bool]] = []
        self._met = False
        self._tried = Counter[Key]()
        self._known = Counter[Key]()

    @property
    def matters(self) -> bool:
        """Whether any candidate is expected to give known code."""
        return self.heeded and self._met

    def saw(self, edge: Edge, *, known: bool) -> None:
        """A candidate was built; `known`: to the machine code of another node."""
        self._waiting.append((edge, known))
        self._met = self._met or known
        self.version += self.matters

    def chance(self, candidate: Candidate) -> float:
        """That building it gives code which the search does not know: 1 until its method has met
        known code, then the share of new code among what was tried, of the same words above all.

        For words with n tries of which k were known, of a method with N and K, and STRENGTH s:
        (s c + n - k) / (s + n) where c = (s + N - K) / (s + N); 0 where all of ENOUGH were known.
        """
        if not self.matters:
            return 1.0
        self._count()
        method, words = _keys(candidate)
        if not self._known[method]:
            return 1.0
        if self._known[words] == self._tried[words] >= ENOUGH:
            return 0.0
        broad = self._share(method, 1.0)
        return self._share(words, broad)

    def _share(self, key: Key, broader: float) -> float:
        new = self._tried[key] - self._known[key]
        return (STRENGTH * broader + new) / (STRENGTH + self._tried[key])

    def _count(self) -> None:
        for edge, known in self._waiting:
            for key in _keys(edge.candidate):
                self._tried[key] += 1
                self._known[key] += known
        self._waiting.clear()


def _keys(candidate: Candidate) -> tuple[Key, Key]:
    return (candidate.method,), (candidate.method, candidate.detail)
