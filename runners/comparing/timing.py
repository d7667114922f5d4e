"""From paired block medians to a speedup with an interval and a judgement; pure numpy.

A *block* gives one median for every side on every workload. The statistic is the weighted
mean over workloads of the median over blocks of log(other / candidate); its interval is the
percentile bootstrap, which keeps the pairing: a slow moment of the machine slows all sides of
its block. What is resampled are *loads*, all blocks between one loading of the machine code
and the next, for they share where code happens to lie. 4999 resamples; the seed is fixed so
that the same samples always give the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..model import Judgement, Ratio

RESAMPLES = 4999
CONFIDENCE = 0.95
NORMAL = 1.959964
"""the quantile of the normal distribution that leaves (1 - CONFIDENCE) / 2 above it"""
FEWEST_LOADS = 3
"""with fewer there is nothing to resample: blocks are taken for themselves"""
SIGNS = 0.001
"""the most probability, two-sided, with which equal sides may show so many blocks of one sign"""

Floats = npt.NDArray[np.float64]
Blocks = Mapping[str, Sequence[float]]
"""Block medians in milliseconds, by side; all sides have as many."""


@dataclass(frozen=True, slots=True)
class WorkloadBlocks:
    """The blocks of one workload and its weight in the mean."""

    name: str
    weight: float
    blocks_ms: Blocks
    loads: Sequence[int] = ()
    """the number of the load that each block belongs to; empty: each has one of its own"""
    samples: Mapping[str, Sequence[Sequence[float]]] = field(
        default_factory=dict[str, Sequence[Sequence[float]]]
    )
    """by side, of each block: what its median is of, in any unit; empty: not known"""

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return min((len(ms) for ms in self.blocks_ms.values()), default=0)


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


def estimate(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, resamples: int = RESAMPLES
) -> Estimate:
    """The candidate against one other side. Needs at least two blocks of every workload.

    Deviations from the centre are widened as Student's t is wider than the normal distribution
    for as many loads, times sqrt(k / (k - 1)): the bootstrap of a few is too sure of itself
    (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 2.3).
    """
    total = sum(w.weight for w in workloads)
    parts = tuple(
        (
            w.weight / total,
            log_ratios(w.blocks_ms, candidate, other).tobytes(),
            _loads(w).tobytes(),
        )
        for w in workloads
    )
    return _estimate(parts, resamples)


@lru_cache(maxsize=64)
def _estimate(parts: tuple[tuple[float, bytes, bytes], ...], resamples: int) -> Estimate:
    """See `estimate`: a look at blocks and what is told of them at the end ask for the same.

    `parts`: of each workload its share, log ratios (float64) and loads (int64).
    """
    ratios = [np.frombuffer(each, dtype=np.float64) for _, each, _ in parts]
    loads = [np.frombuffer(each, dtype=np.int64) for _, _, each in parts]
    counts = tuple(int(each.max()) + 1 for each in loads)
    center, deviations = 0.0, np.zeros(resamples)
    for number, drawn in enumerate(_draws(counts, resamples)):
        share, middle = parts[number][0], median(ratios[number])
        center += share * middle
        around = _resampled_medians(ratios[number], loads[number], drawn) - middle
        deviations += share * widening(counts[number]) * around
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(deviations, [tail, 100 - tail])
    return Estimate(center, min(center, center + float(low)), max(center, center + float(high)))


def extent(workloads: Sequence[WorkloadBlocks], candidate: str, other: str) -> Estimate:
    """From the least to the greatest block, where there are too few for a bootstrap."""
    total = sum(w.weight for w in workloads)
    center = low = high = 0.0
    for workload in workloads:
        ratios = log_ratios(workload.blocks_ms, candidate, other)
        share = workload.weight / total
        center += share * median(ratios)
        low += share * float(ratios.min())
        high += share * float(ratios.max())
    return Estimate(center, low, high)


def one_sided(workloads: Sequence[WorkloadBlocks], candidate: str, other: str) -> bool:
    """Whether nearly all blocks say the same, faster or slower: the sign test at SIGNS.

    It asks nothing of how blocks are spread, so an interval that a dozen blocks made too
    narrow by chance does not pass for a difference.
    """
    total, count = sum(w.weight for w in workloads), min(w.count for w in workloads)
    mean = np.zeros(count)
    for w in workloads:
        mean += w.weight / total * log_ratios(w.blocks_ms, candidate, other)[:count]
    faster, slower = int((mean > 0).sum()), int((mean < 0).sum())
    return max(faster, slower) >= _most_of(count)


def judgement(found: Estimate, resolution: float, widest: float) -> Judgement:
    """`faster` or `slower` when the whole interval lies beyond the resolution.

    `tie` when all of it is as near to equal as `widest`: an interval that reaches further leaves
    open whether there is a difference, and is `unstable`. Both are relative (0.02 = 2 %).
    """
    edge = math.log1p(resolution)
    if found.low > edge:
        return "faster"
    if found.high < -edge:
        return "slower"
    return not_clear(found, widest)


def not_clear(found: Estimate, widest: float) -> Judgement:
    """`tie` or `unstable`, where neither side is told to be the faster one; see `judgement`."""
    return "tie" if max(found.high, -found.low) <= math.log1p(widest) else "unstable"


def ratio(found: Estimate, over: str, judged: Judgement, placed: Estimate | None = None) -> Ratio:
    """An estimate as it is stored and shown. `placed`: of one placement more, which is told."""
    told = placed or found
    return Ratio(
        over=over,
        speedup=math.exp(found.log_ratio),
        low=math.exp(told.low),
        high=math.exp(told.high),
        judgement=judged,
        middle=(math.exp(found.low), math.exp(found.high)) if placed else None,
    )


def slowest_workload(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str
) -> tuple[str, float]:
    """The workload on which the candidate does worst against `other`, and the speedup there."""
    speedups = {
        w.name: math.exp(median(log_ratios(w.blocks_ms, candidate, other))) for w in workloads
    }
    worst = min(speedups, key=lambda name: speedups[name])
    return worst, speedups[worst]


def median(values: Floats) -> float:
    """As `np.median` has it, of at least one number: that takes ten times as long for a few."""
    ordered, middle = np.sort(values), values.size // 2
    if values.size % 2:
        return float(ordered[middle])
    return float((ordered[middle - 1] + ordered[middle]) / 2)


def log_ratios(blocks: Blocks, candidate: str, other: str) -> Floats:
    """Of each block, the logarithm of how much faster the candidate is."""
    return np.log(np.asarray(blocks[other])) - np.log(np.asarray(blocks[candidate]))


def _loads(workload: WorkloadBlocks) -> npt.NDArray[np.int64]:
    """The load of each block, from 0 without gaps; each block's own, where loads are few."""
    loads: npt.NDArray[Any] = np.unique(np.asarray(workload.loads), return_inverse=True)[1]
    if len(loads) and loads.max() + 1 >= FEWEST_LOADS:
        return loads.astype(np.int64)
    return np.arange(workload.count)


@lru_cache(maxsize=16)
def _draws(counts: tuple[int, ...], resamples: int) -> tuple[npt.NDArray[np.int32], ...]:
    """How often each of so many loads is drawn in each resample, a row a load, by workload: always
    the same."""
    rng = np.random.default_rng(20251019)
    drawn = [rng.multinomial(n, np.full(n, 1 / n), resamples).astype(np.int32) for n in counts]
    return tuple(np.ascontiguousarray(each.T) for each in drawn)


def _resampled_medians(
    values: Floats, loads: npt.NDArray[np.int64], drawn: npt.NDArray[np.int32]
) -> Floats:
    """Medians of `values` when whole loads are drawn with replacement, as often as `drawn` says.

    A block counts as often as its load was drawn; the median is where half of the counts lie
    below, in the order of the values.
    """
    order = np.argsort(values)
    below = np.cumsum(drawn[loads[order]], axis=0, dtype=np.int32)
    twice, whole = 2 * below, below[-1]
    first, last = (twice < whole).sum(axis=0), (twice <= whole).sum(axis=0)
    ordered = values[order]
    medians: Floats = (ordered[first] + ordered[last]) / 2
    return medians


@cache
def widening(count: int) -> float:
    """See `estimate`."""
    return 1.0 if count < 2 else student(count) / NORMAL * math.sqrt(count / (count - 1))


@cache
def student(count: int) -> float:
    """Student's 97.5 % quantile for so many values, two at least, from Abramowitz and Stegun
    26.7.5 (within 3 % from four on)."""
    free, z = count - 1, NORMAL
    return (
        z
        + (z**3 + z) / (4 * free)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * free**3)
    )


@cache
def _most_of(count: int) -> int:
    """How many of so many blocks must have one sign for the sign test; count + 1: none will do."""
    needed, tail = count + 1, 0.0
    while needed > 0:
        tail += math.comb(count, needed - 1) / 2**count
        if 2 * tail > SIGNS:
            break
        needed -= 1
    return needed
