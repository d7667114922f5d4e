"""Two outdirs side by side: only what lies beyond both intervals is a difference."""

from __future__ import annotations

from kernelwright.search.outdir.comparison import Change, compare
from kernelwright.search.outdir.report import Interval, KernelReport, OutdirReport, VariantReport


def kernel(
    name: str, speedup: float, interval: Interval | None, *, kernel_id: str = "k-1"
) -> KernelReport:
    best = VariantReport(
        variant_id=f"v{speedup}",
        parent=None,
        method="tune_parameters",
        changed="TILE=8",
        parameters={"TILE": 8},
        flags=None,
        ending="faster",
        speedup=speedup,
        interval=interval,
        confirmed=True,
        ms={"usual": 1 / speedup},
        is_baseline=interval is None,
        is_best=True,
    )
    return KernelReport(
        kernel_id=kernel_id,
        name=name,
        kernel_type="cpp",
        opened_at="2026-01-01T00:00:00+00:00",
        baseline_ms={"usual": 1.0},
        best=best,
        variants=(best,),
        searches=(),
    )


def change(before: KernelReport, after: KernelReport) -> Change:
    (found,) = compare(OutdirReport(kernels=(before,)), OutdirReport(kernels=(after,)))
    return found.change


def test_a_best_whose_interval_lies_beyond_the_other_is_better_or_worse() -> None:
    slow, fast = kernel("k", 2.0, (1.9, 2.1)), kernel("k", 3.0, (2.8, 3.2))
    assert change(slow, fast) is Change.better
    assert change(fast, slow) is Change.worse


def test_intervals_that_overlap_are_no_difference() -> None:
    assert change(kernel("k", 2.0, (1.5, 2.5)), kernel("k", 2.4, (2.3, 2.6))) is Change.same


def test_losing_a_gain_altogether_is_worse() -> None:
    assert change(kernel("k", 2.0, (1.9, 2.1)), kernel("k", 1.0, None)) is Change.worse


def test_speedups_over_different_baselines_are_not_compared() -> None:
    other = kernel("k", 9.0, (8.0, 10.0), kernel_id="k-2")
    assert change(kernel("k", 2.0, (1.9, 2.1)), other) is Change.other_kernel


def test_a_kernel_of_one_outdir_alone_is_told_as_such() -> None:
    only = OutdirReport(kernels=(kernel("k", 2.0, (1.9, 2.1)),))
    assert [c.change for c in compare(only, OutdirReport(kernels=()))] == [Change.only_before]
    assert [c.change for c in compare(OutdirReport(kernels=()), only)] == [Change.only_after]


def test_the_ratio_spans_the_far_ends_of_both_intervals() -> None:
    before, after = kernel("k", 2.0, (1.9, 2.1)), kernel("k", 3.0, (2.8, 3.2))
    (found,) = compare(OutdirReport(kernels=(before,)), OutdirReport(kernels=(after,)))
    assert found.ratio == 1.5
    assert found.interval == (2.8 / 2.1, 3.2 / 1.9)
