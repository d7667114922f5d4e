"""How promising each candidate is, by what the surrogate expects of it."""

from __future__ import annotations

import math

import numpy as np

from .space import Floats

ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
"""coefficients of 7.1.26, highest power first"""


def expected_improvement(mean: Floats, deviation: Floats, best: float) -> Floats:
    """By how much a candidate undercuts the best, on average (Mockus 1975), [candidates]."""
    off = (best - mean) / deviation
    density = np.exp(-off * off / 2) / math.sqrt(2 * math.pi)
    return deviation * (off * _cumulative(off) + density)


def _cumulative(off: Floats) -> Floats:
    """Of the standard normal; Abramowitz and Stegun 7.1.26, error below 1e-7."""
    x = np.abs(off) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    series = np.polyval(ERF, t) * t
    tail = series * np.exp(-x * x) / 2
    return np.where(off > 0, 1 - tail, tail)
