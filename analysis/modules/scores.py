"""Speedups of ModelNews from what scoring them found: by KernelBench's rules, and by ours."""

from __future__ import annotations

from collections.abc import Collection

from ...runners.comparing.timing import WorkloadBlocks, estimate, judgement, ratio
from ...runners.model import Ratio, Record
from ...runners.modules.common.scores import Scored

RESOLUTION, WIDEST = 0.01, 0.04
EXCESSIVE = 10.0
"""times as fast as eager from which their harness asks for a second look"""


class SideScore(Record):
    """A ModelNew beside one way of running its Model."""

    beside: str
    """`eager` or `compiled`"""
    theirs: float
    """ratio of their means"""
    ours: Ratio
    """measured in turns"""


def right(scored: Scored, name: str) -> bool:
    """Whether every trial of a file passed."""
    trials = scored.trials.get(name, ())
    return bool(trials) and all(each.close for each in trials)


def side_scores(scored: Scored, name: str) -> tuple[SideScore, ...]:
    """How many times as fast a file is as each way of running its Model; none where it is wrong."""
    if name not in scored.blocks_ms:
        return ()
    return tuple(
        SideScore(
            beside=beside,
            theirs=scored.theirs_ms[beside] / scored.theirs_ms[name],
            ours=between(scored, name, beside),
        )
        for beside in ("eager", "compiled")
        if beside in scored.blocks_ms
    )


def between(scored: Scored, name: str, other: str) -> Ratio:
    """How many times as fast one side is as another."""
    sides = {name: scored.blocks_ms[name], other: scored.blocks_ms[other]}
    found = estimate([WorkloadBlocks("call", 1.0, sides)], name, other)
    return ratio(found, other, judgement(found, RESOLUTION, WIDEST))


def better_without(scored: Scored, whole: str, without: Collection[str]) -> tuple[str, ...]:
    """Of files that leave one kernel to ATen each, those that are right and faster for it."""
    return tuple(
        each
        for each in without
        if each in scored.blocks_ms
        and right(scored, each)
        and between(scored, each, whole).judgement == "faster"
    )
