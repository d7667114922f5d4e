"""Times as other callers see them than a comparison: to be told, never judged by.

*Warm*: calls repeated on the same buffers, as a loop has it. *Apart*: one call between other work,
whose data is in no cache near it and whose team of threads sleeps, as most programs have it.
"""

from __future__ import annotations

import math
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

ROUNDS = 5
FEWEST_PLACED = 4
"""placements, without which an interval would hold nearly anything"""


@dataclass
class AsCalled:
    """Medians with warm caches in milliseconds, by workload and side; what could not be taken is
    left out. `runs`: the outputs that were looked at. `warm`, `apart`: the first side against each
    other one, over placements; empty where not every workload has them."""

    warm_ms: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])
    runs: list[Run] = field(default_factory=list[Run])
    warm: tuple[Ratio, ...] = ()
    apart: tuple[Ratio, ...] = ()

    def beside(self, comparison: Comparison) -> Comparison:
        """The comparison with these times told beside its own."""
        workloads = tuple(
            w.model_copy(update={"hot_ms": self.warm_ms.get(w.workload, {})})
            for w in comparison.workloads
        )
        told = {"workloads": workloads, "hot": self.warm, "apart": self.apart}
        return comparison.model_copy(update=told)


def as_called(
    checker: Checker,
    pools: Sequence[SeedPool],
    sides: Sequence[str],
    *,
    plan: TimingPlan,
    timeout_s: float,
    rng: random.Random,
) -> AsCalled:
    """Blocks of each workload as other callers see it, for the reader: no verdict rests on them.

    Empty where the tier's runner takes no such times. Raises ProcessLost.
    """
    told = AsCalled()
    warm, apart = list[WorkloadBlocks](), list[WorkloadBlocks]()
    for pool in pools if plan.hot_times else ():
        looked = first_look(checker, pool, sides, plan, timeout_s, {})
        told.runs += looked.runs
        if looked.broken is not None:
            continue
        asked = _Asked(checker, pool, sides, plan, timeout_s, rng, plan.placing_s / len(pools))
        found = asked.blocks(told.runs, _repeats(pool, looked.seconds, plan), hot=True)
        if found.blocks_ms:
            told.warm_ms[pool.contract.label] = {v: median(ms) for v, ms in found.blocks_ms.items()}
            warm.append(_workload(pool, found))
        if min(looked.seconds.values()) >= plan.apart_s > 0:
            alone = asked.blocks(told.runs, dict.fromkeys(sides, 1), hot=False)
            apart += [_workload(pool, alone)] if alone.blocks_ms else []
    told.warm, told.apart = (_over(found, pools, sides, plan) for found in (warm, apart))
    return told


def _repeats(pool: SeedPool, seconds: Mapping[str, float], plan: TimingPlan) -> dict[str, int]:
    """Calls of a sample with warm caches, by side; `seconds`: of a call."""
    if not plan.hot_sample_s:
        return first_times(pool, seconds, plan).calls
    return {side: math.ceil(plan.hot_sample_s / s) for side, s in seconds.items()}


@dataclass(frozen=True)
class _Asked:
    """What is asked for of one workload."""

    checker: Checker
    pool: SeedPool
    sides: Sequence[str]
    plan: TimingPlan
    timeout_s: float
    rng: random.Random
    seconds: float
    """for blocks of one kind, but for the fewest that tell something"""

    def blocks(self, runs: list[Run], calls: dict[str, int], *, hot: bool) -> Collected:
        """As many blocks as the plan wants and time suffices for; `runs` takes the outputs that
        were looked at."""
        found, started = Collected(), time.monotonic()
        most = self.plan.hot_placements
        for number in range(most):
            if number >= FEWEST_PLACED and time.monotonic() - started > self.seconds:
                break
            order = orders(self.sides, frozenset(), ROUNDS, self.rng)
            place = self.rng.getrandbits(63) if most > 1 else None
            block, looked = self.checker.block(
                self.pool, order, calls, self.timeout_s, hot=hot, placed=place
            )
            runs += looked
            samples = _samples(block.sides, self.plan)
            if len(samples) < len(self.sides):
                break
            found.add(samples, number)
        return found


def _workload(pool: SeedPool, found: Collected) -> WorkloadBlocks:
    name, weight = pool.contract.label, pool.weight
    return WorkloadBlocks(name, weight, found.blocks_ms, samples=found.samples)


def _over(
    found: Sequence[WorkloadBlocks],
    pools: Sequence[SeedPool],
    sides: Sequence[str],
    plan: TimingPlan,
) -> tuple[Ratio, ...]:
    """The first side against each other one; empty where a workload has too few placements."""
    if len(found) < len(pools) or min(w.count for w in found) < FEWEST_PLACED:
        return ()
    return tuple(_told(found, sides[0], other, plan) for other in sides[1:])


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
