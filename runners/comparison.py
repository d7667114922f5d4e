"""One comparison: candidate, incumbent and baseline timed in interleaved blocks.

Every block holds a few rounds; in a round every side runs once, in random order. Sides that
are far slower than the fastest run in one round of a block only, so that a beginner's
baseline does not eat the budget of everything measured against it.

A sample in which something else held the device counts only where nothing better is to be
had: then the resolution of the whole comparison is that of a disturbed machine.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

import psutil

from .checking import Checker
from .gates import Run
from .model import Comparison, Conditions, WorkloadTimes
from .pools import SeedPool
from .runner_messages import RunResult, SideTimes
from .timing import Estimate, WorkloadBlocks, clear, estimate, ratio, settled

Blocks = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How a tier is timed. Times in seconds, resolutions and shares relative (0.02 = 2 %)."""

    resolution: float
    disturbed_resolution: float
    """when too few blocks were undisturbed"""
    widest: float
    """half-width of an interval that says nothing"""
    sample_s: float
    rounds: int
    min_blocks: int
    careful_blocks: int
    """undisturbed ones, without which no difference below `clear_difference` is decided"""
    clear_difference: float
    max_blocks: int
    budget_s: float
    """for each workload, once there are `careful_blocks`, disturbed or not"""
    longest_s: float
    """for each workload, whatever there is; with fewer than `min_blocks` nothing is decided"""
    disturbed_share: float
    """of a sample's time, beyond which it is disturbed"""
    undecided: float = 0.0
    """up to this gain, sampling goes on while the interval is wider than the resolution"""
    max_calls: int | None = None
    """of a sample; None: as many as there are seeds never seen"""
    host_clock: bool = True
    """the clock is the processor's: time that the hypervisor took spoils a block"""
    slow_side: float = 4.0
    """a side slower than the fastest by this factor runs once a block"""


NATIVE = TimingPlan(
    resolution=0.02,  # docs/how-we-measure.md has the A/A tests behind these figures
    disturbed_resolution=0.25,
    widest=0.10,
    sample_s=0.002,  # go and done cost some 20 us: one percent of a sample
    rounds=3,
    min_blocks=6,
    careful_blocks=15,
    clear_difference=0.15,
    max_blocks=60,
    budget_s=4.0,
    longest_s=60.0,
    disturbed_share=0.03,
)


DEVICE = TimingPlan(
    resolution=0.004,  # docs/how-we-measure.md has the A/A figures
    disturbed_resolution=0.05,
    widest=0.02,
    sample_s=0.0003,  # events tell about 0.5 us apart
    rounds=2,
    min_blocks=6,
    careful_blocks=12,
    clear_difference=0.03,
    max_blocks=60,
    budget_s=2.0,
    longest_s=20.0,
    disturbed_share=0.03,
    undecided=0.015,
    max_calls=64,
    host_clock=False,
)
THROTTLED = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "power_brake"})
"""Reasons for low clocks that spoil a block. A power cap does not: all sides share it."""


@dataclass
class Measured:
    """A comparison, or the runs that ended it; `runs` holds every timed run."""

    comparison: Comparison | None
    runs: list[Run]


@dataclass
class _Times:
    """What has been measured so far on one workload: undisturbed blocks, and all of them."""

    pool: SeedPool
    calls: dict[str, int]
    once: frozenset[str]
    rounds: int
    clean: Blocks = field(default_factory=dict[str, list[float]])
    every: Blocks = field(default_factory=dict[str, list[float]])
    samples: int = 0


@dataclass
class _Session:
    """One comparison on its way."""

    sides: tuple[str, ...]
    plan: TimingPlan
    started: float
    times: list[_Times] = field(default_factory=list[_Times])
    dropped: int = 0
    conditions: list[Conditions] = field(default_factory=list[Conditions])

    @property
    def count(self) -> int:
        """Blocks so far, disturbed ones included."""
        return min(len(t.every.get(self.sides[0], ())) for t in self.times)

    @property
    def clean(self) -> int:
        """Undisturbed blocks so far."""
        return min(len(t.clean.get(self.sides[0], ())) for t in self.times)

    @property
    def disturbed(self) -> bool:
        """Whether there are too few undisturbed blocks to go by."""
        return self.clean < self.plan.min_blocks

    @property
    def resolution(self) -> float:
        """What this comparison can tell apart with the blocks that it has."""
        plan = self.plan
        if self.disturbed:
            return plan.disturbed_resolution
        return plan.resolution if self.clean >= plan.careful_blocks else plan.clear_difference

    def later_than(self, seconds: float) -> bool:
        """Whether more time than that has gone into each workload."""
        return time.monotonic() - self.started > seconds * len(self.times)

    def blocks(self, times: _Times) -> Blocks:
        """The blocks that count."""
        return times.every if self.disturbed else times.clean

    def estimate(self, other: str) -> Estimate:
        """The candidate against one other side, from the blocks that count."""
        workloads = [
            WorkloadBlocks(t.pool.contract.label, t.pool.weight, self.blocks(t)) for t in self.times
        ]
        return estimate(workloads, self.sides[0], other)


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
    sides = (candidate, *dict.fromkeys(o for o in others if o != candidate))
    session, runs = _Session(sides, plan, time.monotonic()), list[Run]()
    for pool in pools:
        first, found = checker.block(pool, [sides], {}, timeout_s)
        runs += found
        if broken := _faulted(pool, first.sides):
            return Measured(None, [*runs, broken])
        session.times.append(_start(pool, first.sides, plan))
    while not _enough(session):
        counters, batch = _cpu_counters(), list[tuple[SideTimes, ...]]()
        for times in session.times:
            rounds = _rounds(sides, times.once, times.rounds, rng)
            block, found = checker.block(times.pool, rounds, times.calls, timeout_s)
            runs += found
            if broken := _faulted(times.pool, block.sides):
                return Measured(None, [*runs, broken])
            batch.append(block.sides)
            session.conditions.append(block.conditions)
        stolen = plan.host_clock and _stolen(counters) > plan.disturbed_share
        stolen = stolen or any(_spoiled(c) for c in session.conditions[-len(batch) :])
        for times, block in zip(session.times, batch, strict=True):
            session.dropped += not _keep(times, block, plan, stolen)
    return Measured(_result(session), runs)


def _start(pool: SeedPool, first: Sequence[SideTimes], plan: TimingPlan) -> _Times:
    """Calls of one sample from a first look at each side.

    Sides of about the same speed get the same number: how many buffers take turns in a sample
    decides how warm the caches are, and differs by more than what is to be told apart.
    """
    seconds = {s.variant: max(1e-9, s.nanoseconds[0] * 1e-9) for s in first}
    fastest = min(seconds.values())
    once = frozenset(v for v, t in seconds.items() if t > plan.slow_side * fastest)

    def fitting(t: float) -> int:
        most = plan.max_calls or pool.slots - 1
        return max(1, min(most, math.ceil(plan.sample_s / t)))

    calls = {v: fitting(t if v in once else fastest) for v, t in seconds.items()}
    round_s = sum(seconds[v] * calls[v] for v in seconds if v not in once)
    affordable = int(plan.budget_s / (plan.min_blocks * round_s))
    return _Times(pool, calls, once, rounds=max(1, min(plan.rounds, affordable)))


def _rounds(
    sides: Sequence[str], once: frozenset[str], count: int, rng: random.Random
) -> list[list[str]]:
    """Random orders; a slow side takes part in the first round only."""
    rounds = [[s for s in sides if number == 0 or s not in once] for number in range(count)]
    for order in rounds:
        rng.shuffle(order)
    return rounds


def _keep(times: _Times, block: Sequence[SideTimes], plan: TimingPlan, stolen: bool) -> bool:
    """Add a block: to all of them, and to the clean ones if each side has a clean sample."""
    clean = dict[str, list[float]]()
    for side in block:
        pairs = zip(side.nanoseconds, side.disturbed, strict=True)
        clean[side.variant] = [ns for ns, share in pairs if share <= plan.disturbed_share]
        times.every.setdefault(side.variant, []).append(median(side.nanoseconds) * 1e-6)
        times.samples += len(side.nanoseconds)
    if stolen or not all(clean.values()):
        return False
    for variant, nanoseconds in clean.items():
        times.clean.setdefault(variant, []).append(median(nanoseconds) * 1e-6)
    return True


def _enough(session: _Session) -> bool:
    plan, blocks = session.plan, session.count
    if blocks < plan.min_blocks:
        return blocks > 0 and session.later_than(plan.longest_s)
    if blocks >= plan.max_blocks or len(session.sides) == 1:
        return True
    enough_s = plan.budget_s if blocks >= plan.careful_blocks else plan.longest_s
    if session.later_than(enough_s):
        return True
    found = session.estimate(session.sides[1])
    if session.clean < plan.careful_blocks:
        return clear(found, 2 * session.resolution)
    if 0 <= found.log_ratio <= math.log1p(plan.undecided) and found.width > plan.resolution:
        return False
    return settled(found, plan.resolution)


def _result(session: _Session) -> Comparison:
    sides, plan = session.sides, session.plan
    widest = max(plan.widest, session.resolution)
    ratios = [ratio(session.estimate(o), o, session.resolution, widest) for o in sides[1:]]
    if session.count < plan.min_blocks:  # an interval from so few blocks is none
        ratios = [r.model_copy(update={"judgement": "unstable"}) for r in ratios]
    return Comparison(
        candidate=sides[0],
        ratios=tuple(ratios),
        workloads=tuple(
            WorkloadTimes(
                workload=times.pool.contract.label,
                weight=times.pool.weight,
                median_ms={side: median(ms) for side, ms in session.blocks(times).items()},
                blocks_ms={side: tuple(ms) for side, ms in session.blocks(times).items()},
            )
            for times in session.times
        ),
        resolution=session.resolution,
        samples=sum(times.samples for times in session.times),
        seconds=round(time.monotonic() - session.started, 3),
        dropped_blocks=session.dropped,
        conditions=_together(session.conditions),
    )


def _spoiled(conditions: Conditions) -> bool:
    return bool(conditions.strangers or THROTTLED.intersection(conditions.reasons))


def _together(found: Sequence[Conditions]) -> Conditions:
    clocks = [mhz for each in found for mhz in each.sm_mhz]
    return Conditions(
        sm_mhz=(min(clocks), max(clocks)) if clocks else (),
        reasons=tuple(sorted({reason for each in found for reason in each.reasons})),
        strangers=tuple(sorted({pid for each in found for pid in each.strangers})),
    )


def _faulted(pool: SeedPool, block: Sequence[SideTimes]) -> Run | None:
    for side in block:
        if side.fault:
            result = RunResult(slot=0, poison=0, fault=side.fault, fault_kind=side.fault_kind)
            return Run(pool.contract.label, True, result, variant=side.variant)
    return None


def _cpu_counters() -> tuple[float, float]:
    """Seconds that the hypervisor took from us, and seconds in all, over all cores."""
    now = psutil.cpu_times()
    return float(getattr(now, "steal", 0.0)), float(sum(now[:8]))


def _stolen(before: tuple[float, float]) -> float:
    """The share of machine time since `before` that went to other machines of the host."""
    steal, total = _cpu_counters()
    return max(0.0, steal - before[0]) / max(1e-9, total - before[1])
