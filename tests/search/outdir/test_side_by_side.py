"""Times that stand beside each other are of one measurement."""

from __future__ import annotations

from kernelwright.runners.model import Comparison, ReferenceTimes, WorkloadTimes
from kernelwright.search.outdir.side_by_side import (
    baseline_beside,
    before_and_after,
    beside_reference,
)
from kernelwright.store.records import Confirmation


def times(workload: str, before: float, now: float, hot: bool = False) -> WorkloadTimes:
    warm = {"base": before / 2, "won": now / 2} if hot else {}
    return WorkloadTimes(
        workload=workload,
        weight=1.0,
        median_ms={"base": before, "won": now},
        blocks_ms={},
        hot_ms=warm,
    )


def confirmed(*rows: WorkloadTimes, reference: dict[str, float] | None = None) -> Confirmation:
    visible = Comparison(
        candidate="won", ratios=(), workloads=rows, resolution=0.02, samples=1, seconds=1.0
    )
    told = None if reference is None else ReferenceTimes(where="numpy on the host", ms=reference)
    return Confirmation(
        variant_id="won",
        right=True,
        gates=(),
        visible=visible,
        held_out=None,
        reference=told,
        accepted=True,
        message="",
    )


def test_before_and_after_are_of_the_same_comparison() -> None:
    found = confirmed(times("square", 76.0, 2.0), times("ragged", 10.0, 1.0))
    told = before_and_after(found, "base")
    assert told == "square 76 ms, now 2 ms; ragged 10 ms, now 1 ms"
    assert baseline_beside(found.visible, "base") == {"square": 76.0, "ragged": 10.0}
    assert baseline_beside(found.visible, "another") == baseline_beside(None, "base") == {}


def test_a_reference_faster_than_the_baseline_is_told_beside_the_winner() -> None:
    found = confirmed(times("square", 76.0, 2.0), reference={"square": 1.0})
    assert beside_reference(found, "base") == (
        "the reference (numpy on the host) takes at best 1 ms on `square` "
        "(the winner 2 ms, 0.5x as fast)"
    )


def test_it_is_held_against_warm_times_where_there_are_some() -> None:
    found = confirmed(times("square", 76.0, 2.0, hot=True), reference={"square": 1.0})
    assert "(the winner 1 ms, 1x as fast)" in beside_reference(found, "base")


def test_a_reference_that_is_no_expert_is_not_mentioned() -> None:
    slower = confirmed(times("square", 76.0, 2.0), reference={"square": 80.0})
    assert beside_reference(slower, "base") == ""
    assert beside_reference(confirmed(times("square", 76.0, 2.0)), "base") == ""
