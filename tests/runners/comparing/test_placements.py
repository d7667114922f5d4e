"""Intervals over placements: they hold one more placement, not only the middle of all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kernelwright.runners.comparing.placements import noise_share, over_placements, placed
from kernelwright.runners.comparing.settling import NATIVE, Told, tell
from kernelwright.runners.comparing.timing import Estimate, WorkloadBlocks, estimate, ratio

BLOCKS = 15


def blocks(
    gains: list[float], samples: dict[str, list[tuple[float, ...]]] | None = None
) -> WorkloadBlocks:
    """A baseline of 1 ms, and a candidate that is so many times as fast on each placement."""
    ms = {"a": [1 / gain for gain in gains], "b": [1.0] * len(gains)}
    return WorkloadBlocks("w", 1.0, ms, samples=samples or {})


def told(workload: WorkloadBlocks) -> tuple[Told, Told]:
    """Without and with what placements make of it."""
    before = tell([workload], "a", "b", NATIVE)
    return before, placed(before, [workload], "a", "b")


def wide(workload: WorkloadBlocks) -> Estimate:
    """Where one placement more falls."""
    found = told(workload)[1].placed
    assert found is not None
    return found


@pytest.mark.parametrize("count", [4, 6, 15, 40])
def test_one_more_placement_falls_into_the_interval_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(5)
    held = narrow = 0
    for _ in range(300):
        drawn = np.exp(rng.normal(math.log(4), 0.1, count + 1))
        workload, one = blocks([float(x) for x in drawn[:-1]]), math.log(drawn[-1])
        wide, around = (
            over_placements([workload], "a", "b", 999),
            estimate([workload], "a", "b", 999),
        )
        held += wide.low <= one <= wide.high
        narrow += around.low <= one <= around.high
    assert held >= 0.90 * 300
    assert narrow < 0.85 * 300, "an interval around the middle does not hold single placements"


def test_a_placement_of_another_kind_is_in_the_interval() -> None:
    alike = blocks([5.2] * 11 + [4.3] * 4)
    before, after = told(alike)
    assert math.exp(after.found.low) > 4.9, "the middle is well known"
    assert math.exp(wide(alike).low) <= 4.3 + 1e-9
    assert (before.judgement, after.judgement) == ("faster", "faster")


@pytest.mark.parametrize(
    ("gains", "hangs"),
    [([1.06] * 56 + [0.93] * 4, True), ([1.06] * 60, False), ([0.8] * 55 + [1.1] * 5, True)],
)
def test_the_middle_is_judged_and_a_lead_that_hangs_on_placement_is_told_in_words(
    gains: list[float], hangs: bool
) -> None:
    before, after = told(blocks(gains))
    found = ratio(after.found, "b", after.judgement, after.placed)
    assert found.judgement == before.judgement == ("faster" if gains[0] > 1 else "slower")
    assert found.hangs_on_placement == hangs
    assert ("can take the" in found.placement_words) == hangs
    assert found.low <= found.judged[0] <= found.judged[1] <= found.high


def test_the_same_ratio_of_buffers_in_one_place_has_one_interval_and_no_words() -> None:
    before, _ = told(blocks([1.06] * 56 + [0.93] * 4))
    found = ratio(before.found, "b", before.judgement)
    assert (found.middle, found.placement_words, found.hangs_on_placement) == (None, "", False)


def test_few_noisy_placements_do_not_hide_a_gain_that_all_of_them_show() -> None:
    found, after = told(blocks([7.2, 8.06, 8.3, 8.4, 7.9, 8.1]))
    assert found.judgement == after.judgement == "faster"
    assert math.exp(wide(blocks([7.2, 8.06, 8.3, 8.4, 7.9, 8.1])).low) > 5


def test_placements_that_are_all_alike_leave_the_interval_as_it_was() -> None:
    before, after = told(blocks([3.0] * BLOCKS))
    assert after.found == before.found == after.placed


def test_what_samples_within_blocks_explain_is_not_told_as_placement() -> None:
    rng, middles = np.random.default_rng(3), list[float]()
    samples: dict[str, list[tuple[float, ...]]] = {"a": [], "b": []}
    for _ in range(BLOCKS):
        a, b = rng.normal(0, 0.05, 3), rng.normal(0, 0.05, 3)
        samples["a"].append(tuple(np.exp(a)))
        samples["b"].append(tuple(2 * np.exp(b)))
        middles.append(2 * math.exp(float(np.median(b) - np.median(a))))
    noisy, unknown = blocks(middles, samples), blocks(middles)
    assert noise_share(noisy, "a", "b") > 0.4
    assert noise_share(unknown, "a", "b") == 0
    less, more = (over_placements([w], "a", "b") for w in (noisy, unknown))
    assert less.width < 0.85 * more.width


def test_one_sample_of_a_slow_side_leaves_its_noise_unknown() -> None:
    pair = {"a": [(1.0, 1.1, 0.9)] * BLOCKS, "b": [(9.0,)] * BLOCKS}
    gains = [9.0 + 0.01 * i for i in range(BLOCKS)]
    assert 0 < noise_share(blocks(gains, pair), "a", "b") <= 1
    single = {"a": [(1.0,)] * BLOCKS, "b": [(9.0,)] * BLOCKS}
    assert noise_share(blocks(gains, single), "a", "b") == 0


def test_one_block_says_nothing_of_another_placement() -> None:
    one = Told(Estimate(1.0, 1.0, 1.0), math.inf, "unstable")
    assert placed(one, [blocks([2.0])], "a", "b") is one


def test_a_single_block_that_was_held_up_is_no_placement() -> None:
    calm = [2.0 + 0.01 * i for i in range(BLOCKS)]
    assert math.exp(wide(blocks([*calm[:-1], 0.1])).low) > 1.9
    assert math.exp(wide(blocks([*calm[:-2], 1.0, 1.0])).low) <= 1.0 + 1e-9, "two alike are a kind"
