"""A Gaussian process that follows a search: it grows with what is known, and is fitted anew."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

import numpy as np

from .fitting import fitted
from .kernel import Shape, expected_shape
from .posterior import Posterior
from .space import Floats, Indices

GROWTH = 1.15
"""the shape is fitted again at so many times the measurements, so that fits take a bounded share"""
STEPS_AT_FIRST, STEPS_AGAIN = 40, 15
"""of a fit: from the expected shape, and from the one before"""
FITTED_TO = 256
"""measurements that a shape is fitted to at most: a fit takes the cube of them"""


class Surrogate:
    """What one quantity is expected to be. `points`: [configurations, features], two or more."""

    def __init__(self, points: Floats) -> None:
        self._points = points
        self._shape: Shape | None = None
        self._fit_at = 0
        self._candidates: Indices | None = None
        self._posterior: Posterior | None = None
        self._rows: list[int] = []  # index of each point that the posterior knows, in order

    def expected(
        self, candidates: Indices, known: Sequence[int], aims: Floats, pending: Sequence[int] = ()
    ) -> tuple[Floats, Floats]:
        """Mean and deviation, [candidates] each.

        `known`: indices of configurations, `aims` their values, of mean 0 and variance 1;
        `pending`: such as count as average. The posterior is kept while `candidates` is the same
        array.
        """
        if self._shape is None or len(known) >= self._fit_at:
            self._shape, self._posterior = self._fitted(known, aims), None
            self._fit_at = max(len(known) + 1, math.ceil(len(known) * GROWTH))
        value = {**dict.fromkeys(pending, 0.0), **dict(zip(known, aims.tolist(), strict=True))}
        posterior = self._current(self._shape, candidates, value.keys())
        return posterior.at_candidates(np.array([value[i] for i in self._rows]))

    def _current(self, shape: Shape, candidates: Indices, rows: Set[int]) -> Posterior:
        """The posterior that knows these rows, in the order of `_rows`."""
        of_others = candidates is not self._candidates or not rows >= set(self._rows)
        if self._posterior is None or of_others:
            self._candidates, self._rows = candidates, list(rows)
            self._posterior = Posterior(shape, self._points[candidates], self._points[self._rows])
        known = set(self._rows)
        for index in (i for i in rows if i not in known):
            self._posterior.add(self._points[index])
            self._rows.append(index)
        return self._posterior

    def _fitted(self, known: Sequence[int], aims: Floats) -> Shape:
        every = math.ceil(len(known) / FITTED_TO)
        some = np.argsort(aims, kind="stable")[::every]
        points = self._points[np.array(known)[some]]
        if self._shape is None:
            return fitted(points, aims[some], expected_shape(points.shape[1]), STEPS_AT_FIRST)
        return fitted(points, aims[some], self._shape, STEPS_AGAIN)
