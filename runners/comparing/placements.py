"""What a user may see, whose buffers lie in one place of many; pure functions of blocks.

Where memory begins against pages and cache lines, and which pages it has, can be worth more than
half of a gain, for as long as a program runs. An interval around the middle of all placements
shrinks with their number, and holds no single one. So here every block has a placement of its own,
and the interval is that in which one more falls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .settling import TimingPlan, Told
from .timing import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Floats,
    WorkloadBlocks,
    judgement,
    log_ratios,
    median,
    not_clear,
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
    plan: TimingPlan,
) -> Told:
    """What is told of two sides, with an interval that holds placements: `over_placements`.

    Nobody is told faster or slower whose lead a placement can take away: all of the interval lies
    beyond the resolution, or it is a `tie` or `unstable`.
    """
    if min(w.count for w in workloads) < FEWEST:
        return told
    found, narrow = over_placements(workloads, candidate, other), told.found
    wide = Estimate(narrow.log_ratio, min(found.low, narrow.low), max(found.high, narrow.high))
    judged = told.judgement
    if judged == "tie" or judgement(wide, told.resolution, plan.widest) != judged:
        judged = "unstable" if judged == "unstable" else not_clear(wide, plan.widest)
    return Told(wide, told.resolution, judged)


def over_placements(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, resamples: int = RESAMPLES
) -> Estimate:
    """The 95 % interval in which one more placement falls; at least FEWEST blocks a workload.

    Each resample draws the middle of all blocks, and one block more: the user's. Of how far blocks
    lie apart, the share is taken off that the samples within them explain, since a user who repeats
    calls does not see it, and a block that stands far off alone counts as nearer (`_likely`). Both
    are widened for few blocks as in `timing.estimate`.
    """
    rng, total = np.random.default_rng(20261124), sum(w.weight for w in workloads)
    center, deviations = 0.0, np.zeros(resamples)
    for workload in workloads:
        ratios = log_ratios(workload.blocks_ms, candidate, other)
        share, middle = workload.weight / total, median(ratios)
        drawn = ratios[rng.integers(ratios.size, size=(resamples, ratios.size))]
        middles = np.median(drawn, axis=1) - middle
        one = _likely(ratios - middle)[rng.integers(ratios.size, size=resamples)]
        kept = math.sqrt(1 - noise_share(workload, candidate, other))
        deviations += share * widening(ratios.size) * (middles + kept * one)
        center += share * middle
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(deviations, [tail, 100 - tail])
    return Estimate(center, min(center, center + float(low)), max(center, center + float(high)))


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
