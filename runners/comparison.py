"""One comparison: candidate, incumbent and baseline timed in interleaved blocks.

Every block holds a few rounds; in a round every side runs once, in random order. Sides that
are far slower than the fastest run in one round of a block only, so that a beginner's
baseline does not eat the budget of everything measured against it.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import psutil

from .checking import Checker
from .gates import Run
from .model import Comparison, WorkloadTimes
from .pools import SeedPool
from .runner_messages import RunResult, SideTimes
from .timing import Estimate, WorkloadBlocks, estimate, ratio, settled


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How a tier is timed. Times in seconds, resolution and widest relative (0.02 = 2 %)."""

    resolution: float
    widest: float
    sample_s: float
    rounds: int
    min_blocks: int
    max_blocks: int
    budget_s: float
    stolen_share: float
    slow_side: float = 4.0
    """a side slower than the fastest by this factor runs once a block"""


NATIVE = TimingPlan(
    resolution=0.02,  # two identical variants on a shared 2-core machine differ by up to 1 %
    widest=0.10,
    sample_s=0.002,  # go and done cost some 20 us: one percent of a sample
    rounds=3,
    min_blocks=6,
    max_blocks=40,
    budget_s=4.0,
    stolen_share=0.05,
)


@dataclass
class Measured:
    """A comparison, or the runs that ended it; `runs` holds every timed run."""

    comparison: Comparison | None
    runs: list[Run]


@dataclass
class _Times:
    """What has been measured so far on one workload."""

    pool: SeedPool
    calls: dict[str, int]
    once: frozenset[str]
    blocks: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    def as_blocks(self) -> WorkloadBlocks:
        return WorkloadBlocks(self.pool.contract.label, self.pool.weight, self.blocks)


def compare(
    checker: Checker,
    pools: Sequence[SeedPool],
    candidate: str,
    others: Sequence[str],
    *,
    plan: TimingPlan,
    timeout_s: float,
    rng: random.Random,
) -> Measured:
    """Time `candidate` against `others` (variant ids; the first decides when to stop).

    Raises ProcessLost when the runner itself is lost.
    """
    started = time.monotonic()
    sides = (candidate, *dict.fromkeys(o for o in others if o != candidate))
    state, runs, samples, dropped = list[_Times](), list[Run](), 0, 0
    for pool in pools:
        first, found = checker.block(pool, [sides], {}, timeout_s)
        runs += found
        if broken := _faulted(pool, first):
            return Measured(None, [*runs, broken])
        state.append(_start(pool, first, plan))
    while True:
        counters = _cpu_counters()
        batch = list[list[SideTimes]]()
        for times in state:
            block, found = checker.block(
                times.pool, _rounds(sides, times.once, plan.rounds, rng), times.calls, timeout_s
            )
            runs += found
            if broken := _faulted(times.pool, block):
                return Measured(None, [*runs, broken])
            batch.append(block)
        if _stolen(counters) > plan.stolen_share and dropped < plan.max_blocks // 2:
            dropped += 1
        else:
            samples += _keep(state, batch)
        if _enough(state, sides, plan, started):
            break
    return Measured(_result(state, sides, plan, samples, dropped, started), runs)


def _start(pool: SeedPool, first: Sequence[SideTimes], plan: TimingPlan) -> _Times:
    """Calls of one sample from a first look at each side."""
    seconds = {s.variant: max(1e-9, s.nanoseconds[0] * 1e-9) for s in first}
    fastest = min(seconds.values())
    calls = {
        v: max(1, min(pool.slots - 1, math.ceil(plan.sample_s / t))) for v, t in seconds.items()
    }
    once = frozenset(v for v, t in seconds.items() if t > plan.slow_side * fastest)
    return _Times(pool, calls, once)


def _rounds(
    sides: Sequence[str], once: frozenset[str], count: int, rng: random.Random
) -> list[list[str]]:
    """Random orders; a slow side takes part in one randomly chosen round."""
    chosen = rng.randrange(count)
    rounds = list[list[str]]()
    for number in range(count):
        order = [s for s in sides if number == chosen or s not in once]
        rng.shuffle(order)
        rounds.append(order)
    rounds.sort(key=lambda order: len(order) < len(sides))  # the runner wants a full round first
    return rounds


def _keep(state: Sequence[_Times], batch: Sequence[Sequence[SideTimes]]) -> int:
    count = 0
    for times, block in zip(state, batch, strict=True):
        for side in block:
            ordered = sorted(side.nanoseconds)
            middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
            times.blocks.setdefault(side.variant, []).append(middle * 1e-6)
            count += len(ordered)
    return count


def _enough(
    state: Sequence[_Times], sides: Sequence[str], plan: TimingPlan, started: float
) -> bool:
    blocks = len(state[0].blocks.get(sides[0], ()))
    late = time.monotonic() - started > plan.budget_s * len(state)
    if blocks < plan.min_blocks:
        return late and blocks > 0
    if blocks >= plan.max_blocks or late or len(sides) == 1:
        return True
    return settled(_estimate(state, sides[0], sides[1]), plan.resolution)


def _estimate(state: Sequence[_Times], candidate: str, other: str) -> Estimate:
    return estimate([times.as_blocks() for times in state], candidate, other)


def _result(
    state: Sequence[_Times],
    sides: Sequence[str],
    plan: TimingPlan,
    samples: int,
    dropped: int,
    started: float,
) -> Comparison:
    return Comparison(
        candidate=sides[0],
        ratios=tuple(
            ratio(_estimate(state, sides[0], other), other, plan.resolution, plan.widest)
            for other in sides[1:]
        ),
        workloads=tuple(
            WorkloadTimes(
                workload=times.pool.contract.label,
                weight=times.pool.weight,
                median_ms={side: _median(values) for side, values in times.blocks.items()},
                blocks_ms={side: tuple(values) for side, values in times.blocks.items()},
            )
            for times in state
        ),
        resolution=plan.resolution,
        samples=samples,
        seconds=round(time.monotonic() - started, 3),
        dropped_blocks=dropped,
    )


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _faulted(pool: SeedPool, block: Sequence[SideTimes]) -> Run | None:
    for side in block:
        if side.fault:
            result = RunResult(slot=0, poison=0, fault=side.fault, fault_kind=side.fault_kind)
            return Run(pool.contract.label, True, result)
    return None


def _cpu_counters() -> tuple[float, float]:
    """Seconds that the hypervisor took from us, and seconds in all, over all cores."""
    now = psutil.cpu_times()
    return float(getattr(now, "steal", 0.0)), float(sum(now[:8]))


def _stolen(before: tuple[float, float]) -> float:
    """The share of machine time since `before` that went to other machines of the host."""
    steal, total = _cpu_counters()
    return max(0.0, steal - before[0]) / max(1e-9, total - before[1])
