"""The blocks of one workload as they come in, and which of them count.

A block counts where each side has a sample that nothing else disturbed. What held a team of more
threads than cores up is known of all blocks together alone (`native/others.py`): these are sorted
anew with each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from ..model import Conditions
from ..protocol.messages import BlockResult, SideTimes
from ..protocol.pools import SeedPool
from .settling import TimingPlan

THROTTLED = frozenset({"hw_slowdown", "sw_thermal", "hw_thermal", "power_brake"})
"""Reasons for low clocks that spoil a block. A power cap does not: all sides share it."""
POWER_CAP = "sw_power_cap"
LOW_CLOCK = 0.75
"""of the highest clock of a comparison, below which a block is spoiled; nvbench's limit"""


@dataclass
class Collected:
    """Block medians in milliseconds by side, the samples that they are of (nanoseconds), and
    the load that each block belongs to."""

    blocks_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    loads: list[int] = field(default_factory=list[int])
    samples: dict[str, list[Sequence[float]]] = field(
        default_factory=dict[str, list[Sequence[float]]]
    )

    def add(self, samples: Mapping[str, Sequence[float]], load: int) -> None:
        """One block: nanoseconds of its samples, by side."""
        for side, ns in samples.items():
            self.blocks_ms.setdefault(side, []).append(median(ns) * 1e-6)
            self.samples.setdefault(side, []).append(ns)
        self.loads.append(load)


@dataclass(frozen=True, slots=True)
class Taken:
    """What is kept of a block: samples without what they wrote. `why_not`: what spoilt all of it;
    `seconds` on the clock, and `others_s` of cores, those that other programs had in them."""

    sides: tuple[SideTimes, ...]
    load: int
    why_not: str
    seconds: float
    others_s: float

    @classmethod
    def of(cls, block: BlockResult, load: int, why_not: str) -> Taken:
        """Of a block as it came."""
        sides = tuple(side.model_copy(update={"results": ()}) for side in block.sides)
        return cls(sides, load, why_not, block.seconds, block.others_s)


def held_by_others(blocks: Sequence[Taken]) -> float:
    """By how much of its time others can have held up a team that has all cores, relative: what
    they had of any core, over all blocks together; inf where that is not known."""
    seconds = sum(block.seconds for block in blocks)
    return max(0.0, sum(block.others_s for block in blocks)) / seconds if seconds else math.inf


def undisturbed(side: SideTimes, share: float, most: float) -> list[float]:
    """The samples of a side (nanoseconds) of which others had at most this share. `most`: that
    they can have had of those of a team of more threads than cores, which waits for itself."""
    limit = most if side.crowded else math.inf
    pairs = zip(side.nanoseconds, side.disturbed, strict=True)
    return [ns for ns, held_up in pairs if min(held_up, limit) <= share]


@dataclass
class Times:
    """What has been measured so far on one workload: undisturbed blocks, and all of them."""

    pool: SeedPool
    calls: dict[str, int]
    once: frozenset[str]
    rounds: int
    clean: Collected = field(default_factory=Collected)
    every: Collected = field(default_factory=Collected)
    conditions: list[Conditions] = field(default_factory=list[Conditions])
    spoiled: dict[str, str] = field(default_factory=dict[str, str])
    samples: int = 0
    taken: list[Taken] = field(default_factory=list[Taken])

    def add(self, block: BlockResult, load: int, plan: TimingPlan, why_not: str) -> None:
        """Add a block: to all of them, and to the clean ones if each side has a clean sample.

        `why_not`: what spoilt it as a whole; empty: nothing did.
        """
        self.conditions.append(block.conditions)
        self.samples += sum(len(side.nanoseconds) for side in block.sides)
        why_not = why_not or self._why_spoiled(block.conditions)
        self.taken.append(Taken.of(block, load, why_not))
        if any(side.crowded for side in block.sides):
            self._sort_all(plan)
        else:
            self._sort(len(self.taken) - 1, plan, math.inf)

    def _sort_all(self, plan: TimingPlan) -> None:
        """Of all blocks anew which count: what others had of them together is known better with
        each."""
        self.clean, self.every, self.spoiled = Collected(), Collected(), {}
        most = held_by_others(self.taken)
        for number in range(len(self.taken)):
            self._sort(number, plan, most)

    def _sort(self, number: int, plan: TimingPlan, most: float) -> None:
        block, clean = self.taken[number], dict[str, Sequence[float]]()
        every = dict[str, Sequence[float]]()
        for side in block.sides:
            kept = undisturbed(side, plan.disturbed_share, most)
            if kept:
                clean[side.variant] = kept
            every[side.variant] = kept or side.nanoseconds
        self.every.add(every, block.load)
        why_not = block.why_not
        if not why_not and len(clean) < len(every):
            why_not = "every sample of a side was held up"
        if why_not:
            self.spoiled[str(number)] = why_not
        else:
            self.clean.add(clean, block.load)

    def _why_spoiled(self, found: Conditions) -> str:
        """What a GPU said of itself around a block that makes it useless."""
        if found.strangers:
            return f"another process on the GPU: {', '.join(map(str, found.strangers))}"
        if throttled := THROTTLED.intersection(found.reasons):
            return f"clocks held down: {', '.join(sorted(throttled))}"
        highest = max((c.sm_mhz[-1] for c in self.conditions if c.sm_mhz), default=0)
        if found.sm_mhz and POWER_CAP not in found.reasons:
            after = found.sm_mhz[-1]
            if after < LOW_CLOCK * highest:
                return f"{after} MHz, after {highest} MHz before"
        return ""
