"""What a user may see, whose buffers lie in one place of many; pure functions of blocks.

Where memory begins against pages and cache lines, and which pages it has, can be worth more than
half of a gain, for as long as a program runs. An interval around the middle of all placements
shrinks with their number, and holds no single one. So here every block has a placement of its own,
and the interval is that in which one more falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .settling import Told
from .timing import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Floats,
    WorkloadBlocks,
    log_ratios,
    median,
    student,
    widening,
)

FEWEST = 2
"""placements that say something of another one"""
MANY = 8
"""blocks of which one may be an accident"""
ALONE = 1.5
MEDIAN_VARIANCE = 1.35
"""of the median of three normal samples, over that of their mean; of more it is up to 1.57"""


def placed(
    told: Told,
    workloads: Sequence[WorkloadBlocks],
    candidate: str,
    other: str,
) -> Told:
    """What is told of two sides, with the interval in which one placement more falls beside it.

    What is judged is the middle of all placements, which is what a change of code is worth; whether
    a placement can take that away (`Ratio.hangs_on_placement`) is told in words.
    """
    if min(w.count for w in workloads) < FEWEST:
        return told
    found, middle = over_placements(workloads, candidate, other), told.found
    wide = Estimate(middle.log_ratio, min(found.low, middle.low), max(found.high, middle.high))
    return replace(told, placed=wide)


def over_placements(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, resamples: int = RESAMPLES
) -> Estimate:
    """The 95 % interval in which one more placement falls; at least FEWEST blocks a workload.

    Of two intervals the further end on each side is told: Student's, as of normal placements, since
    the furthest of a few are not known yet; and a bootstrap's, as there may be several kinds. Each
    of its resamples draws the middle of all blocks, and one block more: the user's. Of how far
    blocks lie apart, the share is taken off that the samples within them explain, since a user who
    repeats calls does not see it, and a block that stands far off alone counts as nearer
    (`_likely`).
    """
    rng, total = np.random.default_rng(20261124), sum(w.weight for w in workloads)
    center, deviations, variance = 0.0, np.zeros(resamples), 0.0
    fewest = min(w.count for w in workloads)
    for workload in workloads:
        ratios = log_ratios(workload.blocks_ms, candidate, other)
        share, middle = workload.weight / total, median(ratios)
        drawn = ratios[rng.integers(ratios.size, size=(resamples, ratios.size))]
        middles = np.median(drawn, axis=1) - middle
        kept = math.sqrt(1 - noise_share(workload, candidate, other))
        ones = kept * _likely(ratios - middle)
        one = ones[rng.integers(ratios.size, size=resamples)]
        deviations += share * widening(ratios.size) * (middles + one)
        variance += share**2 * (float(np.var(middles)) + float(np.var(ones, ddof=1)))
        center += share * middle
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(deviations, [tail, 100 - tail])
    normal = student(fewest) * math.sqrt(variance)
    return Estimate(center, center + min(float(low), -normal), center + max(float(high), normal))


def _likely(deviations: Floats) -> Floats:
    """Of blocks from their middle; of many, the furthest on each side counts as ALONE times as far
    as the next one at most.

    What happens to one block of many is an accident of its moment, and can be far larger than what
    placements do; each kind of placement is drawn for a third of them.
    """
    if deviations.size < MANY:
        return deviations
    least, most = np.sort(deviations)[[1, -2]]
    return np.clip(deviations, ALONE * least, ALONE * most)


def noise_share(workload: WorkloadBlocks, candidate: str, other: str) -> float:
    """The share of the variance between blocks that samples within them explain; 0: not known.

    The middle of all blocks is taken: a sample that was held up does not make placements alike.
    """
    ratios = log_ratios(workload.blocks_ms, candidate, other)
    spread, samples = float(np.var(ratios, ddof=1)), workload.samples
    pairs = zip(samples.get(candidate, ()), samples.get(other, ()), strict=True)
    noise: Floats = np.array([_noise(one, two) for one, two in pairs])
    return min(1.0, median(noise) / spread) if noise.size and spread > 0 else 0.0


def _noise(one: Sequence[float], other: Sequence[float]) -> float:
    """The variance of the log ratio of two medians, as their samples tell it.

    Samples are paired by rounds where there are as many; else the side with more tells its own
    part, and nothing is known of the other's.
    """
    logs = [np.log(np.asarray(each)) for each in (one, other)]
    told = logs[0] - logs[1] if len(one) == len(other) else max(logs, key=len)
    return MEDIAN_VARIANCE * float(np.var(told, ddof=1)) / told.size if told.size > 1 else 0.0
