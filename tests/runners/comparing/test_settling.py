"""When comparisons end: clear differences at once, near ties late, equal sides never told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise import Noise, blocks_of, settled_on

from kernelwright.runners.comparing.settling import (
    DEVICE,
    NATIVE,
    TimingPlan,
    decide,
    drift_of,
    tell,
    tell_disturbed,
)
from kernelwright.runners.comparing.timing import WorkloadBlocks

USUAL = Noise(0.0047)
"""Twice as far as the blocks of a 2 us kernel that an H100 timed, in blocks half as long."""
NOISY = Noise(0.015)
PLANS = [pytest.param(NATIVE, id="native"), pytest.param(DEVICE, id="device")]


def verdicts(noise: Noise, true: float, count: int) -> list[tuple[str, int]]:
    rng = np.random.default_rng(4)
    return [
        settled_on(math.log1p(true) + noise.blocks(DEVICE.max_blocks, DEVICE.reload_every, rng))
        for _ in range(count)
    ]


def decided(workloads: Sequence[WorkloadBlocks], plan: TimingPlan = DEVICE) -> bool:
    return decide(workloads, "a", ["b"], plan)


def constant(true: float, count: int, weight: float = 1.0) -> WorkloadBlocks:
    wave = [math.log1p(true) + 1e-4 * (-1) ** i for i in range(count)]
    return blocks_of(np.array(wave), DEVICE.reload_every, weight)


@pytest.mark.parametrize("noise", [USUAL, NOISY], ids=["usual", "noisy"])
def test_equal_sides_are_not_told_apart(noise: Noise) -> None:
    """benchmarks/settling.py asks twenty thousand times; here one in 250 would be seen."""
    found = verdicts(noise, 0.0, 250)
    assert [j for j, _ in found if j in ("faster", "slower")] == []


@pytest.mark.parametrize(("true", "most"), [(0.009, 8), (0.018, 2)])
def test_planted_gains_are_found(true: float, most: int) -> None:
    """`most` may be missed of 150: 5 %, and 1 %."""
    found = [judged for judged, _ in verdicts(USUAL, true, 150)]
    assert found.count("faster") >= 150 - most
    assert "slower" not in found


@pytest.mark.parametrize(("true", "blocks"), [(-0.6, 2), (-0.3, 3), (-0.15, 4), (-0.05, 6), (2, 2)])
def test_the_clearer_the_difference_the_fewer_the_blocks(true: float, blocks: int) -> None:
    found = verdicts(USUAL, true, 100)
    assert {judged for judged, _ in found} == {"faster" if true > 0 else "slower"}
    assert sorted(count for _, count in found)[50] == blocks


def test_one_block_decides_nothing() -> None:
    assert not decided([constant(-0.99, 1)])
    assert tell([constant(-0.99, 1)], "a", "b", DEVICE).judgement == "unstable"


def test_an_outlier_keeps_few_blocks_from_a_verdict() -> None:
    ratios = [math.log(0.5)] * 3 + [math.log(1.1)]
    assert decided([blocks_of(np.array(ratios[:3]))])
    assert not decided([blocks_of(np.array([*ratios[1:3], ratios[3]]))])


@pytest.mark.parametrize("plan", PLANS)
def test_what_few_blocks_tell_is_said(plan: TimingPlan) -> None:
    told = [plan.told_by(count) for count in range(plan.max_blocks + 1)]
    assert told == sorted(told, reverse=True)
    assert math.isinf(told[1]) and told[-1] == plan.resolution
    for step in plan.steps:
        assert tell([constant(-0.9, step.blocks)], "a", "b", plan).resolution == step.beyond


@pytest.mark.parametrize("plan", PLANS)
def test_looks_and_steps_fit_each_other(plan: TimingPlan) -> None:
    assert list(plan.looks) == sorted(set(plan.looks))
    assert plan.steps[-1].blocks < plan.careful_blocks
    assert plan.careful_blocks >= 3 * plan.reload_every
    assert all(look % plan.reload_every == 0 for look in plan.looks)


def test_a_tie_ends_as_soon_as_it_cannot_be_faster() -> None:
    assert decided([constant(0.0, 12)])
    assert tell([constant(0.0, 12)], "a", "b", DEVICE).judgement == "tie"


@pytest.mark.parametrize("plan", PLANS)
def test_an_interval_that_leaves_open_who_is_faster_is_no_tie(plan: TimingPlan) -> None:
    """As a user met it: 0.27 to 1.45, called a tie."""
    open_ = blocks_of(np.log([0.27, 1.45, 0.5, 1.2, 0.3, 1.4] * 5), plan.reload_every)
    told = tell([open_], "a", "b", plan)
    assert told.judgement == "unstable"
    assert told.resolution == plan.resolution, "noise is the interval's to tell"


@given(st.integers(0, 2000), st.floats(0.001, 0.4), st.floats(-0.3, 0.3), st.sampled_from([8, 15]))
@settings(deadline=None, max_examples=60)
def test_a_tie_is_as_near_to_equal_as_the_plan_says(
    seed: int, spread: float, true: float, count: int
) -> None:
    made = blocks_of(true + Noise(spread).blocks(count, 1, np.random.default_rng(seed)))
    told = tell([made], "a", "b", NATIVE, resamples=199)
    reaches = max(abs(told.found.low), abs(told.found.high))
    if told.judgement == "tie":
        assert reaches <= math.log1p(NATIVE.widest)
    elif told.judgement == "unstable":
        assert reaches > math.log1p(NATIVE.widest)


def test_a_gain_near_what_is_kept_goes_on_while_its_interval_is_wide() -> None:
    wide = math.log1p(0.012) + np.array([0.004, -0.004] * 6)
    assert tell([blocks_of(wide)], "a", "b", DEVICE).judgement == "faster"
    assert not decided([blocks_of(wide)])
    assert decided([blocks_of(wide + 0.02)])


def test_one_block_of_twelve_that_says_otherwise_asks_for_three_more() -> None:
    gain = np.full(15, math.log1p(0.03))
    gain[4] = -0.01
    early, later = blocks_of(gain[:12], 3), blocks_of(gain, 3)
    assert tell([early], "a", "b", DEVICE).judgement == "unstable"
    assert not decided([early])
    assert decided([later])
    assert tell([later], "a", "b", DEVICE).judgement == "faster"


@given(st.integers(0, 2000), st.floats(0.001, 0.05), st.floats(-0.05, 0.05))
@settings(deadline=None)
def test_a_told_difference_is_twice_as_far_as_its_interval_is_wide(
    seed: int, spread: float, true: float
) -> None:
    rng = np.random.default_rng(seed)
    made = [blocks_of(true + Noise(spread).blocks(15, 3, rng), 3)]
    told = tell(made, "a", "b", DEVICE, resamples=199)
    assert told.resolution >= DEVICE.resolution
    if told.clear:
        nearest = min(abs(told.found.low), abs(told.found.high))
        assert nearest >= told.found.width / 2
        assert nearest > math.log1p(told.resolution)


def test_out_of_time_with_few_blocks_an_outlier_does_not_hide_a_difference() -> None:
    blocks = blocks_of(np.array([math.log(3.0)] * 10 + [math.log(0.4)]))
    assert not decide([blocks], "a", ["b"], NATIVE)
    told = tell([blocks], "a", "b", NATIVE)
    assert (told.judgement, told.resolution) == ("faster", 0.15)


def test_every_other_side_must_be_clear_before_few_blocks_suffice() -> None:
    times = {"a": [1.0] * 3, "incumbent": [0.5] * 3, "baseline": [1.1, 1.12, 1.08]}
    made = [WorkloadBlocks("w", 1.0, times)]
    assert decide(made, "a", ["incumbent"], DEVICE)
    assert not decide(made, "a", ["incumbent", "baseline"], DEVICE)


@pytest.mark.parametrize("plan", PLANS)
def test_who_is_clearly_slower_than_the_first_needs_few_blocks_beside_the_others(
    plan: TimingPlan,
) -> None:
    def made(blocks: int) -> list[WorkloadBlocks]:
        near = [1.01, 1.0, 0.99] * 20
        times = {"a": [1.0] * blocks, "incumbent": [0.2] * blocks, "baseline": near[:blocks]}
        return [WorkloadBlocks("w", 1.0, times)]

    few, enough = made(plan.min_blocks - 1), made(plan.min_blocks)
    assert not decide(few, "a", ["incumbent", "baseline"], plan)
    assert decide(enough, "a", ["incumbent", "baseline"], plan)
    assert tell(enough, "a", "incumbent", plan).judgement == "slower"


def test_a_side_of_which_nothing_can_be_said_yet_asks_for_more_blocks() -> None:
    times = {"a": [1.0] * 15, "incumbent": [0.5] * 15, "baseline": [0.6, 3.0, 1.4] * 5}
    made = [WorkloadBlocks("w", 1.0, times)]
    assert decide(made, "a", ["incumbent"], NATIVE)
    assert not decide(made, "a", ["incumbent", "baseline"], NATIVE)


def test_a_loss_on_one_workload_must_not_be_in_doubt() -> None:
    faster, slower = constant(1.0, 4, 10.0), constant(-0.5, 4)
    doubtful = blocks_of(np.log([0.93, 0.97, 0.93, 0.97]))
    assert decided([faster, constant(0.0, 4)])
    assert decided([faster, slower])
    assert not decided([faster, doubtful])
    assert decided([constant(-0.5, 4, 10.0), doubtful])


def test_disturbed_blocks_tell_a_gross_difference_or_nothing() -> None:
    def told(true: float) -> str:
        return tell_disturbed([constant(true, 12)], "a", "b", DEVICE).judgement

    assert [told(t) for t in (0.5, 0.02, 0.0, -0.02, -0.5)] == [
        "faster",
        "unstable",
        "unstable",
        "unstable",
        "slower",
    ]


def test_disturbed_blocks_that_disagree_tell_nothing() -> None:
    """As a busy machine made them: a kernel against itself, held up for most of some samples."""
    ratios = np.log([0.01, 0.03, 0.02, 1.2, 0.01, 0.3, 0.02, 0.04, 0.02, 0.03, 0.01, 1.1])
    told = tell_disturbed([blocks_of(ratios)], "a", "b", NATIVE)
    assert told.found.high < 0
    assert told.judgement == "unstable"


def test_drift_is_of_the_baseline_and_of_the_ratio() -> None:
    rising = np.linspace(1.0, 1.06, 12)
    alike = WorkloadBlocks("w", 1.0, {"a": list(rising), "b": list(2 * rising)})
    drift, moved = drift_of([alike], "a", "b", "b")
    assert drift == pytest.approx(0.04, abs=0.01)
    assert moved == pytest.approx(0, abs=1e-9)
    alone = WorkloadBlocks("w", 1.0, {"a": [1.0] * 12, "b": list(2 * rising)})
    assert drift_of([alone], "a", "b", "b")[1] == pytest.approx(0.04, abs=0.01)


def test_a_ratio_that_moves_with_a_drifting_baseline_is_doubted() -> None:
    rising = [constant(0.02, 12)]
    assert tell(rising, "a", "b", DEVICE).judgement == "faster"
    assert tell(rising, "a", "b", DEVICE, moved=0.03).judgement == "unstable"
    assert tell([constant(-0.015, 12)], "a", "b", DEVICE, moved=0.03).judgement == "tie"
    assert not decide(rising, "a", ["b"], DEVICE, moved=0.03)
