"""From paired block medians to a speedup with an interval and a judgement; pure numpy.

A *block* gives one median for every side on every workload. The statistic is the weighted
mean over workloads of the median over blocks of log(other / candidate); its interval is the
percentile bootstrap over blocks, which keeps the pairing: a slow moment of the machine slows
all sides of its block. 4999 resamples; the seed is fixed so that the same samples always
give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .model import Judgement, Ratio

RESAMPLES = 4999
CONFIDENCE = 0.95

Floats = npt.NDArray[np.float64]
Blocks = Mapping[str, Sequence[float]]
"""Block medians in milliseconds, by side; all sides have as many."""


@dataclass(frozen=True, slots=True)
class WorkloadBlocks:
    """The blocks of one workload and its weight in the mean."""

    name: str
    weight: float
    blocks_ms: Blocks


@dataclass(frozen=True, slots=True)
class Estimate:
    """A log ratio with its 95 % interval; positive: the candidate is faster."""

    log_ratio: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


def estimate(workloads: Sequence[WorkloadBlocks], candidate: str, other: str) -> Estimate:
    """The candidate against one other side. Needs at least one block of every workload."""
    total = sum(w.weight for w in workloads)
    rng = np.random.default_rng(20251019)
    center, resampled = 0.0, np.zeros(RESAMPLES)
    for workload in workloads:
        ratios = _log_ratios(workload.blocks_ms, candidate, other)
        share = workload.weight / total
        picks: npt.NDArray[Any] = rng.integers(0, len(ratios), (RESAMPLES, len(ratios)))
        center += share * float(np.median(ratios))
        resampled += share * np.median(ratios[picks], axis=1)
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(resampled, [tail, 100 - tail])
    return Estimate(center, float(low), float(high))


def judgement(found: Estimate, resolution: float, widest: float) -> Judgement:
    """`faster` or `slower` when the whole interval lies beyond the resolution.

    `unstable`: it could still be faster, and the interval's half-width is beyond `widest`.
    Both are relative (0.02 = 2 %).
    """
    edge = math.log1p(resolution)
    if found.low > edge:
        return "faster"
    if found.high < -edge:
        return "slower"
    if found.high > edge and (found.high - found.low) / 2 > math.log1p(widest):
        return "unstable"
    return "tie"


def settled(found: Estimate, resolution: float) -> bool:
    """Whether more samples could no longer change what is done with the candidate.

    That depends on `faster` alone: open while the interval holds its edge.
    """
    return not found.low <= math.log1p(resolution) <= found.high


def clear(found: Estimate, difference: float) -> bool:
    """Whether the whole interval lies beyond a difference, on either side."""
    edge = math.log1p(difference)
    return found.low > edge or found.high < -edge


def ratio(found: Estimate, other: str, resolution: float, widest: float) -> Ratio:
    """An estimate as it is stored and shown."""
    return Ratio(
        over=other,
        speedup=math.exp(found.log_ratio),
        low=math.exp(found.low),
        high=math.exp(found.high),
        judgement=judgement(found, resolution, widest),
    )


def slowest_workload(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str
) -> tuple[str, float]:
    """The workload on which the candidate does worst against `other`, and the speedup there."""
    speedups = {
        w.name: math.exp(float(np.median(_log_ratios(w.blocks_ms, candidate, other))))
        for w in workloads
    }
    worst = min(speedups, key=lambda name: speedups[name])
    return worst, speedups[worst]


def _log_ratios(blocks: Blocks, candidate: str, other: str) -> Floats:
    return np.log(np.asarray(blocks[other])) - np.log(np.asarray(blocks[candidate]))
