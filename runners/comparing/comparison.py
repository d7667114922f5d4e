"""One comparison: candidate, incumbent and baseline timed in interleaved blocks.

Every block holds a few rounds; in a round every side runs once, in random order. Sides that
are far slower than the fastest run in one round of a block only, so that a beginner's
baseline does not eat the budget of everything measured against it. Every few blocks all
sides' machine code is loaded anew: where code happens to lie can make as much difference as
what is to be told apart, for as long as it lies there.

A sample in which something else held the device counts only where nothing better is to be
had: then the resolution of the whole comparison is that of a disturbed machine.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType

import psutil

from ..gates import Run
from ..gates.checking import Checker
from ..model import Comparison
from ..protocol.messages import BlockResult, RunResult, SideTimes
from ..protocol.pools import SeedPool
from .session import Session
from .settling import TimingPlan
from .taken_blocks import Times

Paces = Mapping[tuple[str, str], float]
"""Seconds of a call by pool and side, roughly: how many make a sample"""
NOT_SLOW = 0.8
"""of `slow_side`: a side that was thought to be that slow, and whose blocks are faster, is not"""


@dataclass
class Measured:
    """A comparison, or the runs that ended it; `runs` holds every timed run."""

    comparison: Comparison | None
    runs: list[Run]


def compare(
    checker: Checker,
    pools: Sequence[SeedPool],
    candidate: str,
    others: Sequence[str],
    *,
    plan: TimingPlan,
    timeout_s: float,
    rng: random.Random,
    paces: Paces = MappingProxyType({}),
    placed: bool = False,
) -> Measured:
    """Time `candidate` against `others` (variant ids; the first decides when to stop, the last
    is the one whose drift is watched: the baseline). `paces`: what is known of the others.
    `placed`: buffers lie elsewhere in every block, and intervals hold what that makes of it, where
    the tier's plan has placements.

    Raises ProcessLost when the runner itself is lost.
    """
    sides = (candidate, *dict.fromkeys(o for o in others if o != candidate))
    placed = placed and plan.placements > 0
    session, runs = Session(sides, plan, time.monotonic(), placed=placed), list[Run]()
    for pool in pools:
        known = {o: paces[pool.pool, o] for o in sides[1:] if (pool.pool, o) in paces}
        looked = first_look(checker, pool, sides, plan, timeout_s, known)
        runs += looked.runs
        session.busy_s += looked.busy_s
        if looked.broken is not None:
            return Measured(None, [*runs, looked.broken])
        session.times.append(first_times(pool, looked.seconds, plan))
    while not session.enough():
        counters, batch = _cpu_counters() if plan.host_clock else None, list[BlockResult]()
        load, reload = session.load, session.reloads
        place = rng.getrandbits(63) if placed else None
        for times in session.times:
            rounds = orders(sides, times.once, times.rounds, rng)
            block, found = checker.block(
                times.pool, rounds, times.calls, timeout_s, reload=reload, placed=place
            )
            runs += found
            session.busy_s += block.busy_s
            if broken := faulted(times.pool, block.sides):
                return Measured(None, [*runs, broken])
            batch.append(block)
        stolen = counters is not None and _stolen(counters) > plan.disturbed_share
        why_not = "the hypervisor took time from the machine" if stolen else ""
        for times, block in zip(session.times, batch, strict=True):
            times.add(block, load, plan, why_not)
        session.restart([_believed(times, plan) for times in session.times])
    return Measured(session.result(), runs)


@dataclass
class Look:
    """How long one call of each side takes, or the run that broke off."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    runs: list[Run] = field(default_factory=list[Run])
    busy_s: float = 0.0
    broken: Run | None = None


def first_look(
    checker: Checker,
    pool: SeedPool,
    sides: Sequence[str],
    plan: TimingPlan,
    timeout_s: float,
    known: Mapping[str, float],
) -> Look:
    """A first sample of each side that is not `known`; the least of some while one seems slow.

    Who was held up in a single look would get calls of its own, and lose by that alone.
    """
    look, asked = Look(dict(known)), [side for side in sides if side not in known]
    for _ in range(plan.first_looks):
        block, found = checker.block(pool, [asked], {}, timeout_s)
        look.runs += found
        look.busy_s += block.busy_s
        look.broken = faulted(pool, block.sides)
        if look.broken is not None:
            break
        for side in block.sides:
            took = max(1e-9, _own_ns(side) * 1e-9)
            look.seconds[side.variant] = min(took, look.seconds.get(side.variant, took))
        if max(look.seconds.values()) <= plan.slow_side * min(look.seconds.values()):
            break
    return look


def _own_ns(side: SideTimes) -> float:
    """Nanoseconds of a side's first sample, without those in which others held it up: on a crowded
    machine a call of microseconds takes milliseconds each time that it is looked at alone."""
    took, held_up = side.nanoseconds[0], side.disturbed[0]
    told = held_up < 1 and not side.crowded  # else threads together, or nobody knows
    return took * (1 - held_up) if told else took


def first_times(
    pool: SeedPool,
    seconds: Mapping[str, float],
    plan: TimingPlan,
    among: frozenset[str] | None = None,
) -> Times:
    """Calls of one sample from a first look at each side: seconds of a call.

    Sides of about the same speed get the same number: how many buffers take turns in a sample
    decides how warm the caches are, and differs by more than what is to be told apart.
    `among`: who may be slow; None: anybody.
    """
    fastest = min(seconds.values())
    slow = frozenset(v for v, t in seconds.items() if t > plan.slow_side * fastest)
    once = slow if among is None else slow & among

    def fitting(t: float) -> int:
        most = plan.max_calls or pool.slots - 1
        return max(1, min(most, math.ceil(plan.sample_s / t)))

    calls = {v: fitting(t if v in once else fastest) for v, t in seconds.items()}
    round_s = sum(seconds[v] * calls[v] for v in seconds if v not in once)
    affordable = int(plan.budget_s / (plan.min_blocks * round_s))
    return Times(pool, calls, once, rounds=max(1, min(plan.rounds, affordable)))


def _believed(times: Times, plan: TimingPlan) -> Times | None:
    """Anew, where a side that has calls of its own turns out to be about as fast as the others;
    None: all is as it was thought to be.

    Few calls on few buffers find outputs still in a cache, and on a CPU inputs as well: code that
    is slow for as long as it is looked at must not get them.
    """
    seconds = {side: median(ms) * 1e-3 for side, ms in times.every.blocks_ms.items()}
    most = NOT_SLOW * plan.slow_side * min(seconds.values())
    if all(seconds[side] > most for side in times.once):
        return None
    return first_times(times.pool, seconds, plan, times.once)


def orders(
    sides: Sequence[str], once: frozenset[str], count: int, rng: random.Random
) -> list[list[str]]:
    """Random orders; a slow side takes part in the first round only."""
    rounds = [[s for s in sides if number == 0 or s not in once] for number in range(count)]
    for order in rounds:
        rng.shuffle(order)
    return rounds


def faulted(pool: SeedPool, block: Sequence[SideTimes]) -> Run | None:
    """The run by which a side ended a block; None: none did."""
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
