"""Where to measure first: configurations that lie far from one another."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from .space import Floats

TRIED = 32
"""points that are compared for each that is chosen"""


def spread(points: Floats, count: int, rng: Generator) -> list[int]:
    """Indices of distinct points, each the farthest from all earlier of `TRIED` random ones.

    The farthest of all would always be a corner of the space, where kernels rarely run well
    (best-candidate sampling: Mitchell 1991). `points`: [n, features].
    """
    chosen = [int(rng.integers(len(points)))]
    gaps = ((points - points[chosen[0]]) ** 2).sum(1)
    while len(chosen) < min(count, len(points)):
        left: NDArray[np.intp] = np.setdiff1d(np.arange(len(points)), chosen)
        tried = rng.choice(left, min(TRIED, len(left)), replace=False)
        chosen.append(int(tried[np.argmax(gaps[tried])]))
        gaps = np.minimum(gaps, ((points - points[chosen[-1]]) ** 2).sum(1))
    return chosen
