"""Times with warm caches: calls repeated on the same buffers. To be told, never judged by."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ..gates import Run
from ..gates.checking import Checker
from ..model import Comparison, Ratio
from ..protocol.messages import SideTimes
from ..protocol.pools import SeedPool
from .comparison import first_look, first_times, orders
from .placements import over_placements
from .settling import TimingPlan
from .taken_blocks import Collected
from .timing import WorkloadBlocks, judgement, ratio

HOT_ROUNDS = 5
FEWEST_HOT = 4
"""placements, without which an interval would hold nearly anything"""


@dataclass
class HotTimes:
    """Medians with warm caches in milliseconds, by workload and side; what could not be taken is
    left out. `runs`: the outputs that were looked at. `ratios`: the first side against each other
    one, over placements; empty where not every workload has them."""

    ms: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    runs: list[Run] = field(default_factory=list[Run])
    ratios: tuple[Ratio, ...] = ()

    def beside(self, comparison: Comparison) -> Comparison:
        """The comparison with these times told beside its own."""
        workloads = tuple(
            w.model_copy(update={"hot_ms": self.ms.get(w.workload, {})})
            for w in comparison.workloads
        )
        return comparison.model_copy(update={"workloads": workloads, "hot": self.ratios})


def hot_times(
    checker: Checker,
    pools: Sequence[SeedPool],
    sides: Sequence[str],
    *,
    plan: TimingPlan,
    timeout_s: float,
    rng: random.Random,
) -> HotTimes:
    """Blocks of each workload with warm caches, for the reader: no verdict rests on them.

    Empty where the tier's runner takes no such times. Raises ProcessLost.
    """
    hot, workloads = HotTimes(), list[WorkloadBlocks]()
    for pool in pools if plan.hot_times else ():
        looked = first_look(checker, pool, sides, plan, timeout_s, {})
        hot.runs += looked.runs
        if looked.broken is not None:
            continue
        calls = first_times(pool, looked.seconds, plan).calls
        each = _Asked(checker, pool, sides, plan, timeout_s, rng, calls)
        found = each.blocks(hot.runs, plan.placing_s / len(pools))
        if found.blocks_ms:
            hot.ms[pool.contract.label] = {v: median(ms) for v, ms in found.blocks_ms.items()}
            workloads.append(
                WorkloadBlocks(
                    pool.contract.label, pool.weight, found.blocks_ms, samples=found.samples
                )
            )
    if len(workloads) == len(pools) and min(w.count for w in workloads) >= FEWEST_HOT:
        hot.ratios = tuple(_told(workloads, sides[0], other, plan) for other in sides[1:])
    return hot


@dataclass(frozen=True)
class _Asked:
    """What is asked for of one workload."""

    checker: Checker
    pool: SeedPool
    sides: Sequence[str]
    plan: TimingPlan
    timeout_s: float
    rng: random.Random
    calls: dict[str, int]

    def blocks(self, runs: list[Run], seconds: float) -> Collected:
        """As many blocks as the plan wants, within these seconds but for the fewest that tell
        something; `runs` takes the outputs that were looked at."""
        found, started = Collected(), time.monotonic()
        most = self.plan.hot_placements
        for number in range(most):
            if number >= FEWEST_HOT and time.monotonic() - started > seconds:
                break
            order = orders(self.sides, frozenset(), HOT_ROUNDS, self.rng)
            place = self.rng.getrandbits(63) if most > 1 else None
            block, looked = self.checker.block(
                self.pool, order, self.calls, self.timeout_s, hot=True, placed=place
            )
            runs += looked
            samples = _samples(block.sides, self.plan)
            if len(samples) < len(self.sides):
                break
            found.add(samples, number)
        return found


def _samples(sides: Sequence[SideTimes], plan: TimingPlan) -> Mapping[str, Sequence[float]]:
    """Nanoseconds by side; undisturbed ones, where a side has some."""
    found = dict[str, Sequence[float]]()
    for side in sides:
        if side.nanoseconds and not side.fault:
            pairs = zip(side.nanoseconds, side.disturbed, strict=True)
            clean = [ns for ns, share in pairs if share <= plan.disturbed_share]
            found[side.variant] = clean or side.nanoseconds
    return found


def _told(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, plan: TimingPlan
) -> Ratio:
    found = over_placements(workloads, candidate, other)
    return ratio(found, other, judgement(found, plan.resolution, plan.widest))
