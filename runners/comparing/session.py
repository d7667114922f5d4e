"""One comparison on its way: whether the blocks so far suffice, and what they say."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from ..model import Comparison, Conditions, WorkloadTimes
from .placements import placed
from .settling import TimingPlan, Told, decide, drift_of, tell, tell_disturbed
from .taken_blocks import Times
from .timing import WorkloadBlocks, ratio


@dataclass
class Session:
    """One comparison on its way. `sides`: the candidate, then the others."""

    sides: tuple[str, ...]
    plan: TimingPlan
    started: float
    times: list[Times] = field(default_factory=list[Times])
    placed: bool = False
    """every block has a placement of its own, and the interval holds what that makes of it"""
    busy_s: float = 0.0
    _looked: int = 0
    """clean blocks when it was last asked whether they suffice"""
    _settled_at: float | None = None
    """when blocks were first enough, while further placements are taken"""

    @property
    def count(self) -> int:
        """Blocks so far, disturbed ones included."""
        return min(len(t.every.loads) for t in self.times)

    @property
    def clean(self) -> int:
        """Undisturbed blocks so far."""
        return min(len(t.clean.loads) for t in self.times)

    @property
    def load(self) -> int:
        """The number of the load that the next block belongs to."""
        return self.count // self.plan.reload_every

    @property
    def reloads(self) -> bool:
        """Whether the next block starts a load; of the first one's code, what there is will do,
        unless every block has a load of its own."""
        every = self.plan.reload_every
        return self.count % every == 0 and (self.count > 0 or every == 1)

    def restart(self, anew: Sequence[Times | None]) -> None:
        """Forget all blocks, where a workload (in order) is to be timed in another way."""
        if any(anew):
            pairs = zip(self.times, anew, strict=True)
            self.times = [
                new or Times(old.pool, old.calls, old.once, old.rounds) for old, new in pairs
            ]
            self._looked, self._settled_at = 0, None

    def enough(self) -> bool:
        """Whether to stop: what there is suffices, or there is no more time."""
        plan, blocks = self.plan, self.count
        if blocks == 0:
            return False
        alone = len(self.sides) == 1
        if blocks >= (plan.min_blocks if alone else plan.max_blocks):
            return True
        enough_s = plan.budget_s if self.clean >= plan.min_blocks else 3 * plan.budget_s
        if blocks < plan.careful_blocks:
            enough_s = plan.longest_s
        if self._later_than(enough_s):
            return True
        if self._settled_at is None:
            if alone or not self._suffices():
                return False
            self._settled_at = time.monotonic()
        return not (self.placed and self._takes_more())

    def result(self) -> Comparison:
        """What the blocks say."""
        sides, (counted, tolds) = self.sides, self._told()
        deciding = next(iter(tolds.values()), None)
        edge = self.plan.told_by(self.clean) if deciding is None else deciding.resolution
        dropped = sum(len(t.spoiled) for t in self.times)
        return Comparison(
            candidate=sides[0],
            ratios=tuple(
                ratio(t.found, other, t.judgement, t.placed) for other, t in tolds.items()
            ),
            workloads=tuple(map(_workload_times, self.times, counted)),
            resolution=edge if math.isfinite(edge) else self.plan.disturbed_resolution,
            samples=sum(t.samples for t in self.times),
            seconds=round(time.monotonic() - self.started, 3),
            busy_s=round(self.busy_s, 6),
            blocks=self.count,
            placements=min(w.count for w in counted) if self.placed else 0,
            dropped_blocks=dropped,
            drift=round(drift_of(counted, sides[0], sides[-1], sides[-1])[0], 4),
            conditions=_together([c for t in self.times for c in t.conditions]),
        )

    def _suffices(self) -> bool:
        """Whether undisturbed blocks suffice or, where those are few, all of them."""
        candidate, others = self.sides[0], self.sides[1:]
        if self.clean < self.plan.min_blocks <= self.count:
            every, beyond = self._blocks(clean=False), 2 * self.plan.disturbed_resolution
            found = [tell_disturbed(every, candidate, o, self.plan, beyond=beyond) for o in others]
            if found[0].judgement == "slower" or all(each.clear for each in found):
                return True
        if self.clean == self._looked:
            return False
        self._looked = self.clean
        clean = self._blocks(clean=True)
        # few blocks are told apart without it
        moved = self._moved(others[0]) if self.clean in self.plan.looks else 0.0
        return decide(clean, candidate, others, self.plan, moved=moved)

    def _takes_more(self) -> bool:
        """Whether settled blocks are followed by one with a further placement: there are few, or
        one more may take away what is told; and the time allowed suffices for one that takes as
        long as the others did."""
        plan = self.plan
        assert self._settled_at is not None
        each = (self._settled_at - self.started) / self.count
        spent = time.monotonic() - self._settled_at + each
        if self.clean < plan.placements and spent <= plan.placing_s:
            return True
        return spent <= plan.doubted_s and self._hangs_on_placement()

    def _hangs_on_placement(self) -> bool:
        """Whether what is told of a side is no more than what one placement more can change."""
        _, tolds = self._told()
        found = (ratio(t.found, o, t.judgement, t.placed) for o, t in tolds.items())
        return any(each.hangs_on_placement for each in found)

    def _told(self) -> tuple[list[WorkloadBlocks], dict[str, Told]]:
        """The blocks that count, and what they say of each other side.

        Undisturbed ones count. Where they are too few for anything but a clear difference, and
        show none, all do.
        """
        candidate, others, plan = self.sides[0], self.sides[1:], self.plan
        clean, few = self._blocks(clean=True), self.clean < plan.min_blocks
        if self.clean and (others or not few):
            tolds = {o: tell(clean, candidate, o, plan, moved=self._moved(o)) for o in others}
            if not few or all(t.clear for t in tolds.values()):
                return clean, self._over_placements(clean, tolds)
        every = self._blocks(clean=False)
        tolds = {o: tell_disturbed(every, candidate, o, plan) for o in others}
        return every, self._over_placements(every, tolds)

    def _over_placements(
        self, blocks: Sequence[WorkloadBlocks], tolds: dict[str, Told]
    ) -> dict[str, Told]:
        """What is told, with where one placement more falls where blocks have their own."""
        if not self.placed:
            return tolds
        return {o: placed(told, blocks, self.sides[0], o) for o, told in tolds.items()}

    def _moved(self, other: str) -> float:
        """How far the ratio went while the baseline drifted further than it may; else 0."""
        clean = self._blocks(clean=True)
        drift, moved = drift_of(clean, self.sides[0], other, self.sides[-1])
        return moved if drift > self.plan.drift else 0.0

    def _blocks(self, *, clean: bool) -> list[WorkloadBlocks]:
        found = list[WorkloadBlocks]()
        for times in self.times:
            which, pool = times.clean if clean else times.every, times.pool
            name, weight = pool.contract.label, pool.weight
            found.append(WorkloadBlocks(name, weight, which.blocks_ms, which.loads, which.samples))
        return found

    def _later_than(self, seconds: float) -> bool:
        """Whether more time than that has gone into each workload."""
        return time.monotonic() - self.started > seconds * len(self.times)


def _workload_times(times: Times, counted: WorkloadBlocks) -> WorkloadTimes:
    told = times.conditions
    return WorkloadTimes(
        workload=counted.name,
        weight=counted.weight,
        median_ms={side: median(ms) for side, ms in counted.blocks_ms.items()},
        blocks_ms={side: tuple(ms) for side, ms in counted.blocks_ms.items()},
        calls=times.calls,
        loads=tuple(counted.loads),
        sm_mhz=tuple(c.sm_mhz[-1] for c in told if c.sm_mhz),
        celsius=tuple(c.celsius[-1] for c in told if c.celsius),
        spoiled=times.spoiled,
    )


def _together(found: Sequence[Conditions]) -> Conditions:
    clocks = [mhz for each in found for mhz in each.sm_mhz]
    celsius = [degrees for each in found for degrees in each.celsius]
    return Conditions(
        sm_mhz=(min(clocks), max(clocks)) if clocks else (),
        celsius=(min(celsius), max(celsius)) if celsius else (),
        reasons=tuple(sorted({reason for each in found for reason in each.reasons})),
        strangers=tuple(sorted({pid for each in found for pid in each.strangers})),
    )
