"""Rules on how many warps there are to hide latency with: occupancy, waves, balance."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..profile import names as n
from .model import Hit, Rule, Severity, Values

THEORETICAL_LOW, GAP, SATURATED = 80.0, 10.0, 80.0
ISSUING, ISSUING_WELL = 0.8, 0.6
"""instructions a cycle and scheduler: NVIDIA's CPIStall looks at no wait from the first on, its
IssueSlotUtilization finds no fault from the second on"""
SHORT_WAVE, BLOCK_START = 2000.0, 1000.0
"""nanoseconds: a wave of which the start of a block, about the second, is half"""
TENSOR_KERNEL, TENSOR_THEORETICAL_LOW = 10.0, 25.0
"""a kernel whose tensor pipe is that busy (percent) hides latency by asynchronous copies, and few
warps are enough for it"""
OCCUPANCY = (
    "NVIDIA's TheoreticalOccupancy (80); ours: no finding when compute is at 80 % already, a "
    "slight one when memory is, or when schedulers issue 0.6 instructions a cycle, as then a warp "
    "is ready mostly; 25 is enough for tensor kernels, which run few warps by design"
)
BUSY = (n.SM, n.TENSOR, n.MEMORY, n.ISSUE)


def _occupancy_bar(v: Values) -> float:
    """The theoretical occupancy below which it is worth a word; 0 where none is."""
    if max(v[n.SM], v[n.TENSOR]) >= SATURATED:
        return 0.0
    return TENSOR_THEORETICAL_LOW if v[n.TENSOR] >= TENSOR_KERNEL else THEORETICAL_LOW


def _more_warps_help(v: Values) -> bool:
    """Whether warps may be what is lacking."""
    return v[n.MEMORY] < SATURATED and v[n.ISSUE] < ISSUING_WELL


def _low_occupancy(v: Values) -> Hit | None:
    theoretical = v[n.THEORETICAL]
    if theoretical >= _occupancy_bar(v):
        return None
    severity: Severity = "high" if theoretical <= 25 else "medium" if theoretical <= 50 else "low"
    return Hit(
        severity if _more_warps_help(v) else "low",
        f"at most {theoretical:.0f} % of the warps of a multiprocessor fit "
        f"({v[n.ACHIEVED]:.0f} % are there on average)",
    )


def _occupancy_gap(v: Values) -> Hit | None:
    gap = v[n.THEORETICAL] - v[n.ACHIEVED]
    busy = max(v[n.SM], v[n.TENSOR], v[n.MEMORY]) >= SATURATED or v[n.ISSUE] >= ISSUING
    if busy or gap <= GAP:
        return None
    return Hit(
        "medium" if gap > 3 * GAP else "low",
        f"{v[n.THEORETICAL]:.0f} % of the warps fit, but {v[n.ACHIEVED]:.0f} % are there on "
        "average: blocks live too shortly, end at different times, or are too few",
    )


def _limited_by(limit: str, words: Callable[[Values], str]) -> Callable[[Values], Hit | None]:
    """A rule that fires where this limit is the smallest one and occupancy is low."""

    def judge(v: Values) -> Hit | None:
        smallest = min(v[each] for each in LIMITS)
        if v[limit] > smallest or v[n.THEORETICAL] >= _occupancy_bar(v):
            return None
        severity: Severity = "medium" if v[n.THEORETICAL] <= 50 else "low"
        return Hit(
            severity if _more_warps_help(v) else "low",
            f"{words(v)}: {v[limit]:.0f} {_plural(v[limit], 'block')} a multiprocessor, "
            f"{v[n.THEORETICAL]:.0f} % of its warps",
        )

    return judge


def _low_waves(v: Values) -> Hit | None:
    grid, sms, waves = v[n.GRID], v[n.SMS], v[n.WAVES]
    if grid < sms:
        return Hit(
            "high" if grid <= sms / 2 else "medium",
            f"{grid:.0f} {_plural(grid, 'block')} for {sms:.0f} multiprocessors: "
            f"{sms - grid:.0f} of them have no work",
        )
    if waves < 1 and grid < 2 * sms:
        return Hit("low", f"{grid:.0f} blocks for {sms:.0f} multiprocessors: {waves:.2f} waves")
    return None


def _tail_effect(v: Values) -> Hit | None:
    waves = v[n.WAVES]
    whole = math.floor(waves)
    if waves < 1 or waves == whole or 100 / (1 + whole) < 20:
        return None
    lost = 1 - waves / math.ceil(waves)
    if lost < 0.1:
        return None
    return Hit(
        "high" if lost >= 0.3 else "medium" if lost >= 0.2 else "low",
        f"{waves:.2f} waves: the last one fills {100 * (waves - whole):.0f} % of the GPU, "
        f"{100 * lost:.0f} % of the block slots stay empty",
    )


def _high_waves(v: Values) -> Hit | None:
    waves, wave_ns = v[n.WAVES], v[n.TIME] / max(1.0, v[n.WAVES])
    if waves <= 16 or wave_ns >= SHORT_WAVE:
        return None
    hidden = wave_ns >= BLOCK_START or max(v[n.MEMORY], v[n.SM]) >= SATURATED
    return Hit(
        "low" if hidden else "medium",
        f"{waves:.0f} waves of {wave_ns / 1000:.1f} us each: blocks do very little",
    )


def _imbalance(v: Values) -> Hit | None:
    most, mean = v[n.MOST_SM_CYCLES], v[n.SM_CYCLES]
    gain = (most - mean) / most if most else 0.0
    if gain < 0.05:
        return None
    return Hit(
        "high" if gain >= 0.4 else "medium" if gain >= 0.15 else "low",
        f"the busiest multiprocessor works {most:.0f} cycles, the mean is {mean:.0f}: "
        f"{100 * gain:.0f} % of the time is lost to waiting for it",
    )


def _plural(count: float, noun: str) -> str:
    return noun if round(count) == 1 else f"{noun}s"


LIMITS = (n.LIMIT_REGISTERS, n.LIMIT_SHARED, n.LIMIT_WARPS, n.LIMIT_BLOCKS)
_LIMITED = (*LIMITS, n.THEORETICAL, *BUSY)
_LIMITERS = (("TheoreticalOccupancy", ""), ("Occupancy", "Occupancy Limiters"))
RULES = (
    Rule(
        id="low_occupancy",
        needs=(n.THEORETICAL, n.ACHIEVED, *BUSY),
        judge=_low_occupancy,
        role="cause",
        action="let more warps fit: fewer registers a thread, less shared memory a block, another "
        "block size; or give each warp more independent work",
        because=OCCUPANCY,
        agrees=_LIMITERS,
    ),
    Rule(
        id="occupancy_gap",
        needs=(n.THEORETICAL, n.ACHIEVED, *BUSY),
        judge=_occupancy_gap,
        role="symptom",
        action="blocks that live longer (several items a thread, a persistent grid), whole waves, "
        "equal work for all warps of a block",
        because="NVIDIA's AchievedOccupancy: 10 apart; ours: nothing where a unit is at 80 % or "
        "schedulers issue 0.8 instructions a cycle",
        agrees=(("AchievedOccupancy", ""),),
        page="low-occupancy",
    ),
    Rule(
        id="register_limited",
        needs=(n.REGISTERS, *_LIMITED),
        judge=_limited_by(
            n.LIMIT_REGISTERS, lambda v: f"{v[n.REGISTERS]:.0f} registers a thread are the limit"
        ),
        role="cause",
        action="__launch_bounds__ or maxnreg with a look at spills, fewer values alive at once "
        "(smaller tiles, less unrolling), smaller blocks",
        because=OCCUPANCY,
        agrees=_LIMITERS,
    ),
    Rule(
        id="smem_limited",
        needs=(n.SHARED, *_LIMITED),
        judge=_limited_by(
            n.LIMIT_SHARED,
            lambda v: f"{v[n.SHARED] / 1024:.1f} KiB of shared memory a block are the limit",
        ),
        role="cause",
        action="smaller tiles, fewer pipeline stages, narrower types in shared memory, or more "
        "threads sharing the same tile",
        because=OCCUPANCY,
        agrees=_LIMITERS,
    ),
    Rule(
        id="warp_limited",
        needs=_LIMITED,
        judge=_limited_by(
            n.LIMIT_WARPS, lambda v: "the block size does not divide the warps there are"
        ),
        role="cause",
        action="a block size of which a whole number fills a multiprocessor (128, 256, 512)",
        because=OCCUPANCY,
        agrees=_LIMITERS,
        page="low-occupancy",
    ),
    Rule(
        id="block_limited",
        needs=_LIMITED,
        judge=_limited_by(n.LIMIT_BLOCKS, lambda v: "the number of blocks is the limit"),
        role="cause",
        action="more threads a block",
        because=OCCUPANCY,
        agrees=_LIMITERS,
        page="low-occupancy",
    ),
    Rule(
        id="low_waves_per_sm",
        needs=(n.GRID, n.SMS, n.WAVES),
        judge=_low_waves,
        role="cause",
        action="more and smaller blocks; split the reduction (split-K) where the output is small",
        because="NVIDIA's LaunchConfiguration: a grid below the number of multiprocessors is "
        "severe, below twice that mild; ours: mild only while a wave is not full",
        agrees=(("SOLBottleneck", "Small Grid"), ("LaunchConfiguration", "Small Grid")),
    ),
    Rule(
        id="tail_effect",
        needs=(n.WAVES,),
        judge=_tail_effect,
        role="cause",
        action="a grid that fills whole waves: another tile size, a persistent kernel of as many "
        "blocks as fit, or smaller blocks",
        because="NVIDIA's LaunchConfiguration: 100/(1 + whole waves) at least 20 %; ours: a last "
        "wave that leaves less than 10 % of the slots empty loses nothing",
        agrees=(("LaunchConfiguration", "Tail Effect"),),
    ),
    Rule(
        id="high_waves_per_sm",
        needs=(n.WAVES, n.TIME, n.MEMORY, n.SM),
        judge=_high_waves,
        role="cause",
        action="more work for each block (a loop over tiles, several items a thread), or a "
        "persistent kernel",
        because="ours: starting a block costs about a microsecond of a multiprocessor's time; more "
        "than half of a shorter wave, which shows unless a unit is at 80 % in spite of it",
    ),
    Rule(
        id="imbalance",
        needs=(n.SM_CYCLES, n.MOST_SM_CYCLES),
        judge=_imbalance,
        role="symptom",
        action="blocks of equal work: split the large ones, hand out work by a counter, or order "
        "blocks so that large ones start first",
        because="NVIDIA's WorkloadImbalance: from an estimated gain of 5 %",
        agrees=(("WorkloadImbalance", "SMs"),),
    ),
)
