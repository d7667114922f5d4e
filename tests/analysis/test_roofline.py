"""A measured time against the floor: what bounds it, what is left, and what is not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.analysis.roofline import reaches, roofline, summary
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.limits.limits import Peaks, Work
from kernelwright.runners.specs.spec import KernelSpec

GB = 1e9
PEAKS = Peaks(
    copy_bytes_per_s=40 * GB,
    flops_per_s=400 * GB,
    cache_bytes=32 << 20,
    source="measured",
    device="a machine",
    method="by hand",
)
DATASHEET = PEAKS.model_copy(update={"source": "datasheet"})
amounts = st.floats(min_value=1e3, max_value=1e15)
seconds = st.floats(min_value=1e-9, max_value=1e3)
works = st.builds(Work, bytes=amounts, flops=amounts)


def spec(**declared: Any) -> KernelSpec:
    return KernelSpec.model_validate(
        {
            "name": "scale",
            "kernel": {
                "kernel_type": "cpp",
                "source_code": "",
                "metadata": {"kernel_name": "scale"},
            },
            "io": {
                "arguments": [
                    {"name": "y", "role": "output", "dtype": "float32", "shape": ["N"]},
                ],
                **declared,
            },
            "symbols": {"N": None},
            "workloads": [
                {"name": "large", "symbols": {"N": 10_000_000}},
                {"name": "small", "symbols": {"N": 100_000}},
            ],
            "reference": "baseline",
        }
    )


@given(works, seconds)
def test_a_share_is_at_most_all_exactly_when_the_time_is_at_least_the_floor(
    work: Work, time_s: float
) -> None:
    found = roofline(work, PEAKS, time_s)
    assert found.share is not None and found.floor_s is not None
    assert (found.share <= 1) == (time_s >= found.floor_s)


@given(works, seconds)
def test_the_bound_is_the_side_of_the_ridge_and_has_the_greater_share(
    work: Work, time_s: float
) -> None:
    assert work.bytes is not None and work.flops is not None
    found = roofline(work, PEAKS, time_s)
    by_part = {"memory": found.share_of_copy_bandwidth, "compute": found.share_of_peak}
    assert found.share == by_part[found.bound] == max(by_part.values(), key=lambda s: s or 0)
    intensity, ridge = work.flops / work.bytes, PEAKS.flops_per_s / PEAKS.copy_bytes_per_s
    if intensity != pytest.approx(ridge):
        assert found.bound == ("memory" if intensity < ridge else "compute")


@given(works, seconds, st.floats(min_value=1, max_value=1e3))
def test_a_slower_run_has_a_smaller_share_and_no_less_headroom(
    work: Work, time_s: float, factor: float
) -> None:
    fast, slow = roofline(work, PEAKS, time_s), roofline(work, PEAKS, time_s * factor)
    assert (slow.share or 0) <= (fast.share or 0)
    assert fast.floor_s == slow.floor_s
    if fast.headroom is not None:
        assert slow.headroom is not None and slow.headroom >= fast.headroom


@given(works, seconds, st.floats(min_value=1, max_value=1e3))
def test_more_work_has_no_lower_floor(work: Work, time_s: float, factor: float) -> None:
    assert work.bytes is not None
    more = work.model_copy(update={"bytes": work.bytes * factor})
    floors = [roofline(w, PEAKS, time_s).floor_s or 0 for w in (work, more)]
    assert floors[0] <= floors[1]


def test_a_large_copy_is_bound_by_memory_and_says_what_is_left() -> None:
    found = roofline(Work(bytes=12 * GB, flops=GB), PEAKS, 1.0)
    assert found.headroom == pytest.approx(40 / 12)
    assert found.describe() == (
        "latency_bound, below the memory roof: 12 of 40 GB/s copy bandwidth (30 %); "
        "at best 3.3x is left"
    )


def test_a_time_near_a_roof_is_bound_by_it() -> None:
    assert roofline(Work(bytes=30 * GB, flops=GB), PEAKS, 1.0).kind == "memory_bound"
    assert roofline(Work(bytes=1e6, flops=3e9), PEAKS, 0.01).kind == "compute_bound"


def test_dense_arithmetic_is_bound_by_computing_even_in_the_cache() -> None:
    found = roofline(Work(bytes=1e6, flops=1e9), PEAKS, 0.01)
    assert found.cached
    assert found.describe() == (
        "latency_bound, below the compute roof: 100 of 400 GFLOP/s fp32 peak (25 %); "
        "at best 4x is left"
    )


def test_a_time_below_the_compute_floor_asks_after_the_declaration() -> None:
    text = roofline(Work(bytes=1e6, flops=8e9), PEAKS, 0.01).describe()
    assert "(200 %)" in text and "are the declared flops right?" in text and "left" not in text


def test_faster_than_a_copy_is_served_from_cache_and_claims_no_headroom() -> None:
    found = roofline(Work(bytes=80 * GB, flops=GB), PEAKS, 1.0)
    assert found.share == 2 and found.headroom is None
    assert "200 %" in found.describe() and "served from cache" in found.describe()
    assert "left" not in found.describe()


def test_bytes_that_fit_in_the_cache_claim_no_headroom_from_memory() -> None:
    work = Work(bytes=1e6, flops=1e3)
    found = roofline(work, PEAKS, 1e-3)
    assert found.bound == "memory" and found.headroom is None
    assert "fit in the cache" in found.describe() and "is left" not in found.describe()
    nearly_all = roofline(Work(bytes=30 << 20, flops=1e3), PEAKS, 1e-3)
    assert nearly_all.headroom is not None
    elsewhere = PEAKS.model_copy(update={"cache_bytes": None})
    assert roofline(work, elsewhere, 1e-3).headroom == pytest.approx(40)


@pytest.mark.parametrize(
    ("work", "missing"),
    [
        (Work(), "the spec declares neither `io.bytes` nor `io.flops`"),
        (Work(bytes=4 * GB), "the spec declares no `io.flops`"),
        (Work(flops=4 * GB), "the spec declares no `io.bytes`"),
        (Work(bytes=0, flops=0), "the declared work is zero"),
    ],
)
def test_missing_work_is_unknown_and_said_so(work: Work, missing: str) -> None:
    found = roofline(work, PEAKS, 1.0)
    assert found.bound == "unknown" and found.share is None
    assert missing in found.describe() and missing in found.reach()


def test_one_declared_part_still_gives_its_own_floor_and_share() -> None:
    found = roofline(Work(bytes=4 * GB), PEAKS, 1.0)
    assert (found.floor_s, found.share_of_copy_bandwidth) == (0.1, 0.1)
    assert found.share_of_peak is None
    assert "4 of 40 GB/s copy bandwidth (10 %)" in found.describe()
    assert "served from cache" in roofline(Work(bytes=80 * GB), PEAKS, 1.0).describe()


@pytest.mark.parametrize("time_s", [0.0, -1.0, float("nan")])
def test_no_time_is_refused(time_s: float) -> None:
    with pytest.raises(KernelwrightError, match="measured time"):
        roofline(Work(), PEAKS, time_s)


def test_a_summary_has_the_timed_workloads_in_the_order_of_the_spec() -> None:
    declared = spec(bytes="8 * N", flops="N")
    found = summary(declared, PEAKS, {"small": 0.1, "large": 4.0})
    assert [w.workload for w in found] == ["large", "small"]
    assert found[0].describe() == (
        "large: latency_bound, below the memory roof: 20 of 40 GB/s copy bandwidth (50 %); "
        "at best 2x is left"
    )
    assert [w.workload for w in summary(declared, PEAKS, {"small": 0.1})] == ["small"]


def test_a_time_of_no_workload_is_refused() -> None:
    with pytest.raises(KernelwrightError, match=r"`lrage`[\s\S]*large, small"):
        summary(spec(), PEAKS, {"lrage": 1.0})


def test_the_closing_words_name_what_is_reached_on_each_workload() -> None:
    found = summary(spec(bytes="8 * N", flops="N"), PEAKS, {"small": 0.01, "large": 4.0})
    assert reaches(found) == (
        "50 % of the measured copy bandwidth on large, "
        "more than the measured copy bandwidth (served from cache) on small"
    )
    slower = summary(spec(bytes="8 * N", flops="N"), PEAKS, {"small": 0.1})
    assert reaches(slower) == "20 % of the measured copy bandwidth on small"
    dense = summary(spec(bytes="8 * N", flops="1000 * N"), PEAKS, {"large": 41.0})
    assert reaches(dense) == "61 % of the measured fp32 peak on large"


def test_more_than_a_measured_peak_says_that_the_peak_may_be_too_low() -> None:
    dense = summary(spec(bytes="8 * N", flops="1000 * N"), PEAKS, {"large": 12.5})
    assert reaches(dense) == (
        "more than the measured fp32 peak (200 %; others may have kept the machine from its peak)"
        " on large"
    )
