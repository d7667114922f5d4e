"""The sweep: asks for configurations one after another, told how long each of them took.

Bayesian optimisation over the list of valid configurations: a Gaussian process on log times says
what to expect of each, and the one with the largest expected improvement is next. It begins with
a few that lie far apart. Constants come from the method, none from a kernel or a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.random import default_rng

from ...runners.errors import SpecError
from .acquisition import expected_improvement
from .design import spread
from .fitting import targets
from .space import Configuration, Floats, Indices, Space, Value, codes, features, with_prior
from .surrogate import GROWTH, Surrogate

BEYOND_FEATURES = 2
"""configurations to begin with, more than there are features: a linear trend takes one more, and
one further says how far off it is"""
FEWEST = 3
"""measurements from which on the surrogate has something to say"""
CANDIDATES = 20_000
"""configurations looked at in one ask; of a larger space a sample, and the kin of the best"""
BEST = 5
"""the best so far, whose kin (one parameter differs) is always looked at"""


class Sweep:
    """A search in one space. The same seed, asks and tells give the same configurations.

    `prior`: what other kernels' history expects of a configuration's log time, on any scale. It is
    one more feature of a configuration, so that measurements say how far it can be trusted.
    """

    def __init__(
        self, space: Space, seed: int, prior: Callable[[Configuration], float] | None = None
    ) -> None:
        self._space = space
        self._rng = default_rng(seed)
        self._codes = codes(space)
        self._points = features(space)
        start = spread(self._points, self._points.shape[1] + BEYOND_FEATURES, self._rng)
        if prior is not None:
            expected = np.array([prior(space.configuration(i)) for i in range(len(space))])
            self._points = with_prior(self._points, expected)
            start = [int(expected.argmin()), *start]
        if self._points.shape[1] == 1:  # the covariance of pairs needs two
            self._points = np.repeat(self._points, 2, axis=1)
        self._start = start[::-1]
        self._index = {c: i for i, c in enumerate(space.configurations)}
        self._open = np.ones(len(space), dtype=bool)
        self._times: dict[int, float] = {}
        self._failed: dict[int, None] = {}  # in order of telling
        self._pending: dict[int, None] = {}  # in order of asking
        self._expects_time = Surrogate(self._points)
        self._expects_success = Surrogate(self._points)
        self._candidates: Indices = np.arange(len(space))
        self._draw_at = 0

    @property
    def left(self) -> int:
        """How many configurations were neither asked for nor told."""
        return int(self._open.sum())

    def ask(self, n: int = 1) -> list[dict[str, Value]]:
        """The next `n` configurations, none asked for or told before; fewer when none is left.

        Those not told yet count as if they had taken an average time (constant liar: Ginsbourger,
        Le Riche and Carraro 2010), so that asks do not crowd together.
        """
        asked = list[int]()
        while len(asked) < n and self._open.any():
            index = self._next()
            self._open[index] = False
            self._pending[index] = None
            asked.append(index)
        return [self._space.configuration(i) for i in asked]

    def tell(self, configuration: Configuration, time: float | None) -> None:
        """How long a configuration took, in a unit that is the same for all; None: it failed.

        It need not have been asked for; what is told again is replaced. Raises SpecError for one
        that is not in the space, and for a time that is no positive number.
        """
        index = self._known(configuration)
        if time is not None and not 0 < time < math.inf:
            raise SpecError(
                f"a configuration cannot take {time}", valid="a positive number, or None: it failed"
            )
        self._open[index] = False
        self._pending.pop(index, None)
        self._times.pop(index, None)
        self._failed.pop(index, None)
        if time is None:
            self._failed[index] = None
        else:
            self._times[index] = time

    def _known(self, configuration: Configuration) -> int:
        """The index of a configuration. Raises SpecError."""
        values = tuple(configuration[n] for n in self._space.names if n in configuration)
        if values not in self._index:
            raise SpecError(
                f"{dict(configuration)} is not in the space",
                valid=f"a valid combination of {', '.join(self._space.names)}",
                next_step="tell configurations as ask gave them",
            )
        return self._index[values]

    def _next(self) -> int:
        while self._start:
            if self._open[index := self._start.pop()]:
                return index
        if len(self._times) < FEWEST:
            return int(self._rng.choice(np.flatnonzero(self._open)))
        return self._most_promising()

    def _most_promising(self) -> int:
        """The open candidate with the largest expected improvement, failures discounted."""
        candidates, known = self._current_candidates(), list(self._times)
        aims = targets(np.array(list(self._times.values())))
        pending = list(self._pending)
        mean, deviation = self._expects_time.expected(candidates, known, aims, pending)
        score = expected_improvement(mean, deviation, float(aims.min()))
        score *= self._chance_to_work(candidates)
        score[~self._open[candidates]] = -1
        return int(candidates[self._rng.choice(np.flatnonzero(score == score.max()))])

    def _chance_to_work(self, candidates: Indices) -> Floats:
        """Probability that a candidate does not fail, [candidates].

        By least squares classification (Rasmussen and Williams 2006, 6.5), with a surrogate of its
        own: limits of registers, memory and threads follow other parameters than times do.
        """
        if not self._failed:
            return np.ones(len(candidates))
        known = [*self._times, *self._failed]
        works = np.repeat([1.0, 0.0], [len(self._times), len(self._failed)])
        share, spread_ = float(works.mean()), float(works.std())
        mean, _ = self._expects_success.expected(candidates, known, (works - share) / spread_)
        return np.clip(share + spread_ * mean, 0, 1)

    def _current_candidates(self) -> Indices:
        """What is looked at: everything, or a sample and the kin of the best, for a while."""
        if len(self._space) <= CANDIDATES:
            return self._candidates
        told = len(self._times) + len(self._failed)
        if told >= self._draw_at or not self._open[self._candidates].any():
            self._draw_at = math.ceil((told + 1) * GROWTH)
            best = sorted(self._times, key=self._times.__getitem__)[:BEST]
            kin = [np.flatnonzero((self._codes != self._codes[i]).sum(1) <= 1) for i in best]
            left = np.flatnonzero(self._open)
            sample = self._rng.choice(left, min(CANDIDATES, len(left)), replace=False)
            self._candidates = np.unique(np.concatenate([sample, *kin]))
        return self._candidates
