"""Speedups from paired blocks: planted ratios come back, shared noise cancels, no news is a tie."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.comparing.timing import (
    CONFIDENCE,
    Estimate,
    WorkloadBlocks,
    estimate,
    extent,
    judgement,
    median,
    one_sided,
    ratio,
    slowest_workload,
    widening,
)

RESOLUTION, WIDEST = 0.02, 0.10
Floats = npt.NDArray[np.float64]


def workload(
    a: Floats | list[float], b: Floats | list[float], weight: float = 1.0, name: str = "w"
) -> WorkloadBlocks:
    return WorkloadBlocks(name, weight, {"a": list(map(float, a)), "b": list(map(float, b))})


def noise(seed: int, sigma: float, blocks: int = 12) -> Floats:
    return np.exp(np.random.default_rng(seed).normal(0.0, sigma, blocks))


def judged(found: Estimate) -> str:
    return judgement(found, RESOLUTION, WIDEST)


@given(st.floats(0.05, 20.0), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_a_planted_ratio_comes_back(speedup: float, seed: int) -> None:
    a = noise(seed, 0.003)
    found = estimate([workload(a, speedup * noise(seed + 5000, 0.003))], "a", "b")
    assert math.exp(found.log_ratio) == pytest.approx(speedup, rel=0.01)
    assert found.low <= found.log_ratio <= found.high


@given(st.floats(0.5, 2.0), st.lists(st.floats(0.1, 10.0), min_size=6, max_size=20))
@settings(max_examples=40, deadline=None)
def test_drift_that_slows_all_sides_of_a_block_cancels(speedup: float, drift: list[float]) -> None:
    slow = np.array(drift)
    found = estimate([workload(slow, speedup * slow)], "a", "b")
    assert math.exp(found.log_ratio) == pytest.approx(speedup)
    assert found.high - found.low == pytest.approx(0.0, abs=1e-9)


@given(st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=70))
@settings(max_examples=300, deadline=None)
def test_the_median_is_that_of_numpy_to_the_last_bit(values: list[float]) -> None:
    assert median(np.array(values)) == float(np.median(values))


def bootstrapped(workloads: list[WorkloadBlocks], resamples: int) -> tuple[float, float]:
    """The interval, resample by resample: blocks of loads that were drawn, and their median."""
    rng, total = np.random.default_rng(20251019), sum(w.weight for w in workloads)
    deviations, center = np.zeros(resamples), 0.0
    for w in workloads:
        ratios = np.log(np.array(w.blocks_ms["b"])) - np.log(np.array(w.blocks_ms["a"]))
        loads = np.unique(np.array(w.loads), return_inverse=True)[1]
        count = int(loads.max()) + 1
        drawn = rng.multinomial(count, np.full(count, 1 / count), resamples)
        medians = np.array([np.median(np.repeat(ratios, times[loads])) for times in drawn])
        share, middle = w.weight / total, float(np.median(ratios))
        deviations += share * widening(count) * (medians - middle)
        center += share * middle
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(deviations, [tail, 100 - tail])
    return min(center, center + float(low)), max(center, center + float(high))


@given(st.lists(st.integers(6, 24), min_size=1, max_size=3), st.integers(1, 2), st.integers(0, 999))
@settings(max_examples=40, deadline=None)
def test_the_interval_is_that_of_resampling_one_by_one_to_the_last_bit(
    counts: list[int], each: int, seed: int
) -> None:
    workloads = [
        WorkloadBlocks(
            f"{number}",
            1.0 + number,
            {"a": list(noise(seed, 0.02, n)), "b": list(noise(seed + 5000, 0.02, n))},
            [block // each for block in range(n)],
        )
        for number, n in enumerate(counts)
    ]
    found = estimate(workloads, "a", "b", 99)
    assert (found.low, found.high) == bootstrapped(workloads, 99)
    assert estimate(workloads, "a", "b", 99) == found


def test_pairing_is_what_cancels_the_drift() -> None:
    drift = np.linspace(1.0, 3.0, 12)
    paired = estimate([workload(drift, 1.05 * drift)], "a", "b")
    shuffled = estimate([workload(drift, 1.05 * drift[::-1])], "a", "b")
    assert judged(paired) == "faster"
    assert judged(shuffled) == "unstable"


def test_equal_sides_are_rarely_told_apart() -> None:
    verdicts = [
        judged(estimate([workload(noise(2 * i, 0.01), noise(2 * i + 1, 0.01))], "a", "b"))
        for i in range(150)
    ]
    assert sum(v != "tie" for v in verdicts) <= 1


def test_equal_sides_with_outliers_in_single_blocks_are_a_tie() -> None:
    a, b = noise(1, 0.003), noise(2, 0.003)
    b[3] *= 5.0
    assert judged(estimate([workload(a, b)], "a", "b")) == "tie"


@pytest.mark.parametrize(
    ("speedup", "verdict"), [(1.10, "faster"), (0.90, "slower"), (1.0, "tie"), (1.01, "tie")]
)
def test_differences_beyond_the_resolution_are_told(speedup: float, verdict: str) -> None:
    for seed in range(10):
        a, b = noise(seed, 0.005), speedup * noise(seed + 100, 0.005)
        assert judged(estimate([workload(a, b)], "a", "b")) == verdict


def test_blocks_all_over_the_place_are_unstable_not_a_tie() -> None:
    assert judged(estimate([workload(noise(1, 0.6), noise(2, 0.6))], "a", "b")) == "unstable"


def test_blocks_of_one_load_count_as_one_where_loads_differ() -> None:
    """Ten loads that differ by more than their blocks: as blocks they look like sixty."""
    luck = np.repeat(noise(3, 0.01, 10), 6)
    a, b = luck * noise(4, 0.0005, 60), noise(5, 0.0005, 60)
    loads = [i // 6 for i in range(60)]
    blind = estimate([workload(a, b)], "a", "b")
    aware = estimate([WorkloadBlocks("w", 1.0, {"a": list(a), "b": list(b)}, loads)], "a", "b")
    assert aware.log_ratio == blind.log_ratio
    assert aware.width > 1.8 * blind.width


def test_two_loads_are_too_few_to_resample() -> None:
    made = workload(noise(1, 0.003), noise(2, 0.003))
    loads = [0] * 6 + [1] * 6
    two = WorkloadBlocks("w", 1.0, made.blocks_ms, loads)
    assert estimate([two], "a", "b") == estimate([made], "a", "b")


def test_loads_may_have_lost_blocks_and_be_numbered_with_gaps() -> None:
    made = workload(noise(1, 0.003), noise(2, 0.003))
    gaps = WorkloadBlocks("w", 1.0, made.blocks_ms, [0, 0, 0, 2, 2, 3, 3, 3, 7, 7, 7, 7])
    close = WorkloadBlocks("w", 1.0, made.blocks_ms, [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    found = estimate([gaps], "a", "b")
    assert found == estimate([close], "a", "b")
    assert found.low < found.log_ratio < found.high


@pytest.mark.parametrize("blocks", [12, 30])
def test_intervals_hold_the_truth_as_often_as_they_say(blocks: int) -> None:
    """Of 400 intervals at 95 %, chance alone would leave 33 or more out once in 1000."""
    missed = 0
    for seed in range(400):
        made = workload(noise(2 * seed, 0.004, blocks), noise(2 * seed + 1, 0.004, blocks))
        found = estimate([made], "a", "b", resamples=399)
        missed += not found.low <= 0 <= found.high
    assert missed <= 32


def test_intervals_of_few_loads_hold_the_truth_as_often_as_they_say() -> None:
    """Four loads of three blocks: without widening a fifth of the intervals would miss it."""
    missed = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        ratios = np.repeat(rng.normal(0.0, 0.002, 4), 3) + rng.normal(0.0, 0.0005, 12)
        blocks = {"a": [1.0] * 12, "b": list(np.exp(ratios))}
        made = WorkloadBlocks("w", 1.0, blocks, [i // 3 for i in range(12)])
        found = estimate([made], "a", "b", resamples=399)
        missed += not found.low <= 0 <= found.high
    assert missed <= 32


def test_few_blocks_extend_from_the_least_to_the_greatest() -> None:
    found = extent([workload([1.0, 1.0, 1.0], [1.2, 1.1, 1.4])], "a", "b")
    assert [math.exp(v) for v in (found.low, found.log_ratio, found.high)] == pytest.approx(
        [1.1, 1.2, 1.4]
    )


@pytest.mark.parametrize(("against", "said"), [(0, True), (1, False)])
def test_of_twelve_blocks_all_must_have_one_sign(against: int, said: bool) -> None:
    ratios = [0.99] * against + [1.01] * (12 - against)
    assert one_sided([workload([1.0] * 12, ratios)], "a", "b") is said
    assert one_sided([workload(ratios, [1.0] * 12)], "a", "b") is said


def test_of_sixty_blocks_a_quarter_may_disagree() -> None:
    def made(against: int) -> list[WorkloadBlocks]:
        return [workload([1.0] * 60, [0.99] * against + [1.01] * (60 - against))]

    assert one_sided(made(15), "a", "b")
    assert not one_sided(made(20), "a", "b")


TIMES = st.lists(st.floats(0.01, 100.0), min_size=6, max_size=12)


@given(TIMES, st.data())
@settings(max_examples=40, deadline=None)
def test_swapping_the_sides_inverts_the_ratio(a: list[float], data: st.DataObject) -> None:
    b = data.draw(st.lists(st.floats(0.01, 100.0), min_size=len(a), max_size=len(a)))
    one = estimate([workload(a, b)], "a", "b")
    other = estimate([workload(a, b)], "b", "a")
    assert other.log_ratio == pytest.approx(-one.log_ratio, abs=1e-9)
    assert other.low == pytest.approx(-one.high, abs=1e-9)
    assert other.high == pytest.approx(-one.low, abs=1e-9)
    opposite = {"faster": "slower", "slower": "faster"}
    undecided = ("tie", "unstable")  # which of the two depends on who could still be faster
    assert (judged(one) in undecided) == (judged(other) in undecided)
    assert judged(other) == opposite.get(judged(one), judged(other))


@given(TIMES)
@settings(max_examples=20, deadline=None)
def test_the_same_samples_always_give_the_same_interval(a: list[float]) -> None:
    made = [workload(a, a[::-1])]
    assert estimate(made, "a", "b") == estimate(made, "a", "b")


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.01, 100), st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_workloads_count_by_weight_in_the_mean_of_log_ratios(
    first: float, second: float, light: float, heavy: float
) -> None:
    ones = [1.0] * 6
    made = [workload(ones, [first] * 6, light), workload(ones, [second] * 6, heavy)]
    share = light / (light + heavy)
    wanted = share * math.log(first) + (1 - share) * math.log(second)
    assert estimate(made, "a", "b").log_ratio == pytest.approx(wanted, abs=1e-9)


def test_the_scale_of_the_weights_does_not_matter() -> None:
    def made(scale: float) -> list[WorkloadBlocks]:
        return [
            workload(noise(1, 0.01), noise(2, 0.01), scale),
            workload(noise(3, 0.01), noise(4, 0.01), 3 * scale),
        ]

    one, other = estimate(made(1.0), "a", "b"), estimate(made(7.0), "a", "b")
    assert one.log_ratio == pytest.approx(other.log_ratio)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_more_blocks_make_the_interval_narrower() -> None:
    few = estimate([workload(noise(1, 0.02, 8), noise(2, 0.02, 8))], "a", "b")
    many = estimate([workload(noise(1, 0.02, 200), noise(2, 0.02, 200))], "a", "b")
    assert many.high - many.low < (few.high - few.low) / 2


def _ordered(edges: tuple[float, float, float]) -> Estimate:
    low, center, high = sorted(edges)
    return Estimate(center, low, high)


EDGES = st.floats(-0.3, 0.3)
ESTIMATES = st.tuples(EDGES, EDGES, EDGES).map(_ordered)


@given(ESTIMATES, st.floats(0.001, 0.1), st.floats(0.001, 0.2))
def test_a_judgement_is_one_of_four_with_its_reason(
    found: Estimate, resolution: float, widest: float
) -> None:
    verdict = judgement(found, resolution, widest)
    if verdict == "faster":
        assert math.exp(found.low) > 1 + resolution
    elif verdict == "slower":
        assert math.exp(-found.high) > 1 + resolution
    else:
        assert math.exp(found.low) <= (1 + resolution) * (1 + 1e-12)
        reaches = max(found.high, -found.low)
        assert verdict == ("unstable" if reaches > math.log1p(widest) else "tie")


def test_a_ratio_is_shown_as_speedups() -> None:
    found = ratio(Estimate(math.log(2), math.log(1.5), math.log(3)), "b", "faster")
    shown: dict[str, Any] = found.model_dump()
    assert shown.pop("over") == "b"
    assert shown.pop("judgement") == "faster"
    assert shown.pop("middle") is None, "buffers lay in one place"
    assert shown == pytest.approx({"speedup": 2.0, "low": 1.5, "high": 3.0})


def test_the_slowest_workload_is_the_one_where_the_candidate_does_worst() -> None:
    ones = [1.0] * 6
    made = [
        workload(ones, [2.0] * 6, name="good"),
        workload(ones, [0.8] * 6, name="bad"),
        workload(ones, [1.0] * 6, name="same"),
    ]
    name, speedup = slowest_workload(made, "a", "b")
    assert name == "bad"
    assert speedup == pytest.approx(0.8)
