"""When a comparison may end, and what its blocks say: pure functions of block medians.

A clear difference needs few blocks, a near tie many. While blocks are few, *all* of them have
to lie beyond a difference that noise does not make (`TimingPlan.steps`). From
`careful_blocks` on the bootstrap interval decides against the tier's resolution, with two
guards that keep equal sides from being told apart: the interval must lie as far from 0 as it is
half wide, at least, and blocks must pass the sign test. `benchmarks/settling.py` counts
what comes of it on simulated noise, and docs/how-we-measure.md tells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Judgement
from .timing import (
    RESAMPLES,
    Estimate,
    WorkloadBlocks,
    estimate,
    extent,
    judgement,
    not_clear,
    one_sided,
)


@dataclass(frozen=True, slots=True)
class Step:
    """From so many blocks on a difference is told if every block is beyond it (0.5 = 50 %)."""

    blocks: int
    beyond: float


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """How a tier is timed. Times in seconds, resolutions and shares relative (0.02 = 2 %)."""

    resolution: float
    disturbed_resolution: float
    """when too few blocks were undisturbed"""
    widest: float
    """as far from equal as an interval may reach that is called a tie"""
    sample_s: float
    rounds: int
    steps: tuple[Step, ...]
    """ascending in blocks, descending in what they tell"""
    looks: tuple[int, ...]
    """undisturbed blocks at which the interval is looked at. Every look is another chance for
    noise, so they are few. Before the first nothing but `steps` decides; the last is the end."""
    budget_s: float
    """for each workload, once there are `careful_blocks`, disturbed or not; three times as long
    while fewer than `min_blocks` are undisturbed"""
    longest_s: float
    """for each workload, whatever there is"""
    disturbed_share: float
    """of a sample's time, beyond which it is disturbed"""
    reload_every: int = 1
    """blocks between two loads of all sides' machine code"""
    min_blocks: int = 6
    """disturbed ones included, without which nothing but a clear difference is told"""
    undecided: float = 0.0
    """up to this gain, sampling goes on while the interval is wider than the resolution"""
    worst_workload: float = 0.05
    """a loss on one workload that must not be in doubt when a faster candidate settles early"""
    drift: float = math.inf
    """of the baseline's times from first to last blocks, beyond which its ratio is doubted"""
    max_calls: int | None = None
    """of a sample; None: as many as there are seeds never seen"""
    host_clock: bool = True
    """the clock is the processor's: time that the hypervisor took spoils a block"""
    hot_times: bool = False
    """whether the runner can take times with warm caches"""
    placements: int = 0
    """blocks that a comparison goes on for where each has a placement of its own, and few suffice;
    0: buffers lie in one place"""
    placing_s: float = 0.0
    """that this may take beyond the time in which it settled"""
    doubted_s: float = 0.0
    """the same, while one placement more may take away what their middle tells"""
    hot_sample_s: float = 0.0
    """of a sample with warm caches, of each side by its own speed: calls on one set of buffers need
    no seeds, so what a row costs beside its calls can be made little; 0: calls as otherwise"""
    hot_placements: int = 1
    """blocks of each kind of other callers (`as_called.py`), as far as `placing_s` suffices for
    more than the fewest of them"""
    apart_s: float = 0.0
    """of a call, from which on it is timed between other work as well; 0: none is"""
    slow_side: float = 4.0
    """a side slower than the fastest by this factor runs once a block"""
    first_looks: int = 3
    """samples before it is believed that a side is that slow"""

    @property
    def careful_blocks(self) -> int:
        """Undisturbed ones, from which on the interval decides."""
        return self.looks[0]

    @property
    def max_blocks(self) -> int:
        """All of them, disturbed ones included."""
        return self.looks[-1]

    def told_by(self, blocks: int) -> float:
        """The difference that so many undisturbed blocks can tell; inf: none."""
        if blocks >= self.careful_blocks:
            return self.resolution
        return min((s.beyond for s in self.steps if s.blocks <= blocks), default=math.inf)


NATIVE = TimingPlan(
    resolution=0.02,  # docs/how-we-measure.md has the A/A tests behind these figures
    disturbed_resolution=0.25,
    widest=0.10,
    sample_s=0.002,  # go and done cost some 20 us: one percent of a sample
    rounds=3,
    steps=(Step(4, 1.0), Step(6, 0.3), Step(10, 0.15)),
    looks=(15, 18, 21, 25, 30, 36, 44, 52, 60),
    budget_s=4.0,
    longest_s=60.0,
    disturbed_share=0.03,
    placements=15,
    placing_s=0.6,
    doubted_s=3.0,
    hot_times=True,
    hot_sample_s=0.015,  # waking a team of threads costs some 200 us a row: one percent of it
    hot_placements=8,
    apart_s=0.0002,  # go and done cost a tenth of it
)


DEVICE = TimingPlan(
    resolution=0.004,  # docs/how-we-measure.md has the A/A figures
    disturbed_resolution=0.05,
    widest=0.02,
    sample_s=0.0003,  # events tell about 0.5 us apart
    rounds=2,
    steps=(Step(2, 0.5), Step(3, 0.2), Step(4, 0.1), Step(6, 0.03), Step(8, 0.015)),
    looks=(12, 15, 18, 24, 30, 42, 60),
    budget_s=2.0,
    longest_s=20.0,
    disturbed_share=0.03,
    reload_every=3,
    undecided=0.015,
    drift=0.02,
    max_calls=64,
    host_clock=False,
    hot_times=True,
    first_looks=2,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What blocks say of the candidate against one other side."""

    found: Estimate
    resolution: float
    """relative; inf: too few blocks for any"""
    judgement: Judgement
    placed: Estimate | None = None
    """where one placement more falls; None: buffers lay in one place"""

    @property
    def clear(self) -> bool:
        """Whether it is faster or slower."""
        return self.judgement in ("faster", "slower")


def tell(
    workloads: Sequence[WorkloadBlocks],
    candidate: str,
    other: str,
    plan: TimingPlan,
    *,
    moved: float = 0.0,
    resamples: int = RESAMPLES,
) -> Told:
    """What undisturbed blocks say; at least one of every workload.

    `moved`: a doubt that is no noise, relative, see `drift_of`; the resolution is no better.
    """
    count = min(w.count for w in workloads)
    told = plan.told_by(count)
    if count < plan.careful_blocks:
        few = tell_few(workloads, candidate, other, plan)
        if few.clear or count < plan.min_blocks:
            return few
        found = estimate(workloads, candidate, other, resamples)
        return Told(found, told, judgement(found, told, plan.widest))
    found = estimate(workloads, candidate, other, resamples)
    resolution = max(told, moved)
    judged = judgement(found, resolution, plan.widest)
    clear = far(found) and one_sided(workloads, candidate, other)
    if judged in ("faster", "slower") and not clear:
        judged = not_clear(found, plan.widest)
    if judged == "tie" and moved > told and found.high > math.log1p(told):
        judged = "unstable"
    return Told(found, resolution, judged)


def far(found: Estimate) -> bool:
    """Whether an interval lies as far from 0 as it is half wide, at least."""
    return min(abs(found.low), abs(found.high)) > found.width / 2


def tell_few(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, plan: TimingPlan
) -> Told:
    """Whether all of a few undisturbed blocks lie beyond what so many can tell."""
    found = extent(workloads, candidate, other)
    told = plan.told_by(min(w.count for w in workloads))
    judged = "unstable" if math.isinf(told) else judgement(found, told, plan.widest)
    return Told(found, told, judged)


def tell_disturbed(
    workloads: Sequence[WorkloadBlocks],
    candidate: str,
    other: str,
    plan: TimingPlan,
    *,
    beyond: float | None = None,
) -> Told:
    """What all blocks say where too few were undisturbed: a difference far beyond what noise
    makes there (`beyond`; the plan's), on which nearly all agree; else nothing."""
    if min(w.count for w in workloads) < plan.min_blocks:
        return Told(extent(workloads, candidate, other), math.inf, "unstable")
    found = estimate(workloads, candidate, other)
    judged = judgement(found, beyond or plan.disturbed_resolution, plan.widest)
    clear = judged in ("faster", "slower") and one_sided(workloads, candidate, other)
    return Told(found, plan.disturbed_resolution, judged if clear else "unstable")


def decide(
    workloads: Sequence[WorkloadBlocks],
    candidate: str,
    others: Sequence[str],
    plan: TimingPlan,
    *,
    moved: float = 0.0,
    resamples: int = RESAMPLES,
) -> bool:
    """Whether undisturbed blocks suffice; the first of `others` decides once they are many,
    unless nothing can be said yet of another.

    Few blocks suffice only when every other side is clearly faster or slower, and a faster
    candidate's loss on each workload is clearly within or beyond what is allowed. From `min_blocks`
    on it is enough to be clearly slower than the first of several: such a candidate is not kept,
    however near it is to the others.
    """
    count = min((w.count for w in workloads), default=0)
    if count < plan.careful_blocks:
        if math.isinf(plan.told_by(count)):
            return False
        found = [tell_few(workloads, candidate, other, plan) for other in others]
        if len(others) > 1 and found[0].judgement == "slower" and count >= plan.min_blocks:
            return _something_told(workloads, candidate, others[1:], plan, resamples)
        return all(t.clear for t in found) and not _in_doubt(workloads, candidate, others[0], plan)
    if count not in plan.looks:
        return False
    first = tell(workloads, candidate, others[0], plan, moved=moved, resamples=resamples)
    if not settled(first, plan):
        return False
    return _something_told(workloads, candidate, others[1:], plan, resamples)


def _something_told(
    workloads: Sequence[WorkloadBlocks],
    candidate: str,
    others: Sequence[str],
    plan: TimingPlan,
    resamples: int,
) -> bool:
    further = (tell(workloads, candidate, o, plan, resamples=resamples) for o in others)
    return all(told.judgement != "unstable" for told in further)


def settled(told: Told, plan: TimingPlan) -> bool:
    """Whether more blocks could no longer change what is done with the candidate.

    That depends on `faster` alone: open while the interval holds its edge, and, for a gain
    near what is worth keeping, while it is wide.
    """
    found = told.found
    if found.high < math.log1p(plan.resolution) or told.judgement == "slower":
        return True
    if told.judgement != "faster":
        return False
    known = found.width <= math.log1p(plan.resolution)
    return known or found.log_ratio > math.log1p(plan.undecided)


def drift_of(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, baseline: str
) -> tuple[float, float]:
    """How far a machine changed from its first blocks to its last, relative: of the baseline's
    time, and of the ratio between candidate and other. The largest of all workloads.

    Thirds of the blocks are compared by their medians; 0 with fewer than six.
    """
    drift = moved = 0.0
    for workload in workloads:
        part = workload.count // 3
        if part < 2:
            continue
        first = _slice(workload, slice(0, part))
        last = _slice(workload, slice(workload.count - part, workload.count))
        drift = max(drift, abs(_middle(first, baseline) / _middle(last, baseline) - 1))
        before, after = (extent([w], candidate, other).log_ratio for w in (first, last))
        moved = max(moved, abs(math.expm1(before - after)))
    return drift, moved


def _in_doubt(
    workloads: Sequence[WorkloadBlocks], candidate: str, other: str, plan: TimingPlan
) -> bool:
    """Whether blocks on both sides of the loss allowed on one workload could cost a candidate
    its keeping, or spare it."""
    if len(workloads) == 1:
        return False
    edge = -math.log1p(plan.worst_workload)
    each = [extent([w], candidate, other) for w in workloads]
    faster = extent(workloads, candidate, other).log_ratio > 0
    return faster and any(found.low < edge < found.high for found in each)


def _slice(workload: WorkloadBlocks, part: slice) -> WorkloadBlocks:
    blocks = {side: ms[part] for side, ms in workload.blocks_ms.items()}
    return WorkloadBlocks(workload.name, workload.weight, blocks)


def _middle(workload: WorkloadBlocks, side: str) -> float:
    ordered = sorted(workload.blocks_ms[side])
    return ordered[len(ordered) // 2]
