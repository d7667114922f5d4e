"""Calls on different values against calls on the same ones: who is caught, how it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from device_kernels import CONTRACT

from kernelwright.runners.contract import bind
from kernelwright.runners.gates import Run, ending_of
from kernelwright.runners.gates.repeats import Repeats, computes_every_call, measure
from kernelwright.runners.model import Ending
from kernelwright.runners.pools import SeedPool
from kernelwright.runners.runner_messages import BlockResult, SideTimes
from kernelwright.runners.specs.io_contract import Contract

HONEST = Repeats(different=[100.0, 103.0, 99.0], same=[101.0, 98.0, 104.0])


def test_a_kernel_that_takes_as_long_for_both_passes() -> None:
    assert computes_every_call({"w": HONEST}).outcome == "passed"


def test_a_kernel_that_copies_what_an_earlier_call_computed_is_a_cheat_and_is_told_where() -> None:
    found = computes_every_call(
        {"w": HONEST, "v": Repeats(different=[7000.0, 7100.0], same=[3000.0, 3300.0])}
    )
    assert found.outcome == "failed"
    assert ending_of(found) is Ending.cheated
    assert "`v`" in found.message
    assert "3.3 us or less" in found.message
    assert "7 us or more" in found.message


@pytest.mark.parametrize(
    ("different", "same"),
    [([100.0, 180.0], [60.0, 90.0]), ([300.0, 310.0], [100.0, 300.0]), ([100.0], [85.0])],
    ids=["one sample held up", "one seed takes longer than others", "a little faster"],
)
def test_noise_and_seeds_of_different_cost_catch_nobody(
    different: list[float], same: list[float]
) -> None:
    assert computes_every_call({"w": Repeats(different, same)}).outcome == "passed"


def test_what_cannot_be_repeated_is_skipped_and_says_so() -> None:
    found = computes_every_call({"w": Repeats(different=[100.0], same=[])})
    assert (found.outcome, found.message) == ("skipped", "no call of it can be repeated")


class Scripted:
    """A checker whose kernel takes 1000 ns, and 400 on values that it has seen."""

    def __init__(self) -> None:
        self.asked = list[tuple[dict[str, int], bool]]()

    def block(
        self,
        pool: SeedPool,
        rounds: Sequence[Sequence[str]],
        calls: dict[str, int],
        timeout_s: float,
        *,
        one_seed: bool,
    ) -> tuple[BlockResult, list[Run]]:
        """As `Checker.block`."""
        assert (pool.slots, timeout_s) == (4, 5.0)
        self.asked.append((calls, one_seed))
        times = tuple(400.0 if one_seed else 1000.0 for order in rounds for _ in order)
        return BlockResult(sides=(SideTimes(variant="v", nanoseconds=times),)), []


def test_both_are_timed_in_turn_with_a_call_for_each_seed_but_the_one_that_warms_up() -> None:
    contract = bind(Contract.model_validate(CONTRACT), {"n": 8}, "w")
    checker: Any = Scripted()
    found = measure(checker, SeedPool("k/w", "k", contract, (1, 2, 3, 4)), "v", timeout_s=5.0)
    assert [one_seed for _, one_seed in checker.asked] == [False, True] * 3
    assert {calls["v"] for calls, _ in checker.asked} == {3}
    assert set(found.different) == {1000.0}
    assert set(found.same) == {400.0}
    assert computes_every_call({"w": found}).outcome == "failed"
