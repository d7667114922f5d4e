"""Comparisons on simulated noise: what blocks of two sides look like, and what is decided."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kernelwright.runners.comparing.settling import DEVICE, TimingPlan, decide, tell
from kernelwright.runners.comparing.timing import WorkloadBlocks
from kernelwright.runners.model import Judgement

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """How the log ratio of two sides scatters. Shares (0.003 = 0.3 %)."""

    spread: float
    """standard deviation between the blocks of one load"""
    luck: float = 0.003
    """the furthest that two loads of the same code differ, drawn anew for each load"""
    outliers: float = 0.01
    """share of the blocks that scatter ten times as far"""

    def blocks(self, count: int, cadence: int, rng: np.random.Generator) -> Floats:
        """Log ratios of equal sides: Student's t with 4 degrees of freedom, heavy in its tails,
        on the luck of loads of `cadence` blocks."""
        loads = -(-count // cadence)
        half = self.luck / 2
        luck = rng.uniform(-half, half, loads) + rng.uniform(-half, half, loads)
        scatter = rng.standard_t(4, count) / math.sqrt(2) * self.spread
        scatter[rng.random(count) < self.outliers] *= 10
        found: Floats = np.repeat(luck, cadence)[:count] + scatter
        return found


def settled_on(
    log_ratios: Floats, plan: TimingPlan = DEVICE, resamples: int = 499
) -> tuple[Judgement, int]:
    """The judgement over blocks with these log ratios, and how many blocks it took."""
    at = sorted({*(step.blocks for step in plan.steps), *plan.looks})
    for count in at:
        made = [blocks_of(log_ratios[:count], plan.reload_every)]
        if count == plan.max_blocks or decide(made, "a", ["b"], plan, resamples=resamples):
            return tell(made, "a", "b", plan, resamples=resamples).judgement, count
    raise AssertionError("the last look ends a comparison")


def blocks_of(log_ratios: Floats, cadence: int = 1, weight: float = 1.0) -> WorkloadBlocks:
    """Blocks in which side `a` always takes a millisecond."""
    times = {"a": [1.0] * len(log_ratios), "b": [float(t) for t in np.exp(log_ratios)]}
    return WorkloadBlocks("w", weight, times, [i // cadence for i in range(len(log_ratios))])
