"""What a comparison asks of its runner before and between blocks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from known_times import POOL, Machine

from kernelwright.runners.comparing.comparison import compare
from kernelwright.runners.comparing.settling import DEVICE, NATIVE, TimingPlan
from kernelwright.runners.gates.checking import Checker
from kernelwright.runners.model import Comparison


def compared(
    machine: Machine, plan: TimingPlan, others: Sequence[str] = ("b",), *, placed: bool = False
) -> Comparison:
    found = compare(
        cast("Checker", machine),
        [POOL],
        "a",
        others,
        plan=plan,
        timeout_s=1.0,
        rng=random.Random(1),
        placed=placed,
    )
    assert found.comparison is not None
    return found.comparison


@pytest.mark.parametrize(("plan", "held"), [(NATIVE, 2), (DEVICE, 1)], ids=["native", "device"])
def test_a_side_that_was_held_up_at_first_gets_as_many_calls_as_its_like(
    plan: TimingPlan, held: int
) -> None:
    machine = Machine({"a": 50_000.0, "b": 50_000.0}, {"a": held})
    assert compared(machine, plan).ratios[0].judgement == "tie"
    assert len(set(machine.calls[-1].values())) == 1 < machine.calls[-1]["a"]


def test_a_side_that_is_held_up_in_every_look_is_no_slow_one() -> None:
    """On a crowded machine a single call waits each time it is looked at alone."""
    machine = Machine({"a": 50_000.0, "b": 50_000.0}, {"a": NATIVE.first_looks}, waits=0.99)
    assert compared(machine, NATIVE).ratios[0].judgement == "tie"
    assert len(set(machine.calls[1].values())) == 1 < machine.calls[1]["a"], "one look was enough"


def test_sides_of_about_the_same_speed_are_looked_at_once() -> None:
    machine = Machine({"a": 50_000.0, "b": 80_000.0}, {})
    compared(machine, DEVICE)
    assert [bool(calls) for calls in machine.calls[:2]] == [False, True]


def test_a_slow_side_runs_once_a_block_with_calls_of_its_own() -> None:
    machine = Machine({"a": 50_000.0, "b": 60_000.0, "slow": 5_000_000.0}, {})
    compared(machine, DEVICE, ["b", "slow"])
    calls, orders = machine.calls[-1], machine.orders[-1]
    assert calls["slow"] == 1 < calls["a"] == calls["b"]
    assert [("slow" in order) for order in orders] == [True, False]


@pytest.mark.parametrize("plan", [NATIVE, DEVICE], ids=["native", "device"])
def test_who_is_slow_only_while_it_is_looked_at_wins_no_calls_of_its_own(plan: TimingPlan) -> None:
    machine = Machine({"a": 60_000.0, "b": 60_000.0}, {}, feigning="a")
    found = compared(machine, plan)
    assert found.ratios[0].judgement == "tie"
    calls = [asked for asked in machine.calls if asked]
    assert calls[0]["a"] == 1 < calls[1]["a"] == calls[1]["b"], "it was, for one block"
    assert all(asked == calls[1] for asked in calls[1:])
    assert found.blocks == len(calls) - 1


def test_a_clearly_slow_candidate_costs_a_few_samples() -> None:
    machine = Machine({"a": 5_000_000.0, "b": 50_000.0}, {})
    found = compared(machine, DEVICE)
    assert found.ratios[0].judgement == "slower"
    assert (found.blocks, len(machine.calls)) == (2, 2 + DEVICE.first_looks)


def test_every_block_of_a_placed_comparison_has_a_placement_of_its_own() -> None:
    machine = Machine({"a": 1e5, "b": 3e5}, {})
    found = compared(machine, replace(NATIVE, placing_s=60.0), placed=True)
    looks = len(machine.placed) - found.blocks
    assert machine.placed[:looks] == [None] * looks, "looks tell how many calls make a sample"
    assert len(set(machine.placed[looks:])) == found.blocks == NATIVE.placements
    assert found.placements == found.blocks


def test_where_no_placement_is_asked_for_a_gross_difference_is_told_by_few_blocks() -> None:
    machine = Machine({"a": 1e5, "b": 3e5}, {})
    found = compared(machine, NATIVE)
    assert found.blocks < NATIVE.placements
    assert set(machine.placed) == {None}
    assert found.placements == 0


def test_further_placements_take_no_longer_than_the_plan_allows() -> None:
    machine = Machine({"a": 1e5, "b": 3e5}, {})
    assert compared(machine, replace(NATIVE, placing_s=0.0), placed=True).blocks == 4


@pytest.mark.parametrize(("unlucky", "more"), [((), False), ((5, 13), True)])
def test_a_lead_that_one_placement_more_may_take_away_asks_for_further_ones(
    unlucky: Sequence[int], more: bool
) -> None:
    machine = Machine({"a": 1e5, "b": 1.5e5}, {}, unlucky=unlucky)
    plan = replace(NATIVE, placing_s=60.0, doubted_s=60.0)
    found = compared(machine, plan, placed=True)
    assert found.ratios[0].judgement == "faster"
    assert found.ratios[0].hangs_on_placement == more
    assert (found.blocks == NATIVE.max_blocks) == more


def test_a_gpu_keeps_its_buffers_where_they_are() -> None:
    machine = Machine({"a": 1e5, "b": 3e5}, {})
    assert compared(machine, DEVICE, placed=True).placements == 0
    assert set(machine.placed) == {None}
