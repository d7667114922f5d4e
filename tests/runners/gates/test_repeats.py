"""Calls on different values against calls on the same ones: who is caught, how it is measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest
from device_kernels import CONTRACT

from kernelwright.runners.gates import Run, ending_of
from kernelwright.runners.gates.repeats import Repeats, computes_every_call, measure, slots_for
from kernelwright.runners.model import Ending
from kernelwright.runners.oracle.messages import OutputVerdict
from kernelwright.runners.protocol.messages import BlockResult, RunResult, SideTimes
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

WRONG = OutputVerdict(
    name="y",
    right=False,
    largest=5.0,
    allowed=1.0,
    rms=5.0,
    worst_index=(0,),
    worst_value="9",
    expected_value="1",
    message="error 5",
)
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


ALIKE = {
    "one sample held up": ([100.0, 180.0], [60.0, 90.0]),
    "one seed takes longer than others": ([300.0, 310.0], [100.0, 300.0]),
    "a little faster": ([100.0], [85.0]),
    "values that were used last are in the cache": ([120.0, 118.0, 121.0], [101.0, 99.0, 100.0]),
    "it was held up where values come again": ([100.0, 99.0], [400.0, 390.0]),
    "a short kernel beside a coarse clock": ([2.0, 3.0, 2.0], [2.0, 2.0, 3.0]),
}
"""times of honest kernels with different values, and with the same ones again"""


@pytest.mark.parametrize("what", ALIKE)
def test_noise_and_seeds_of_different_cost_catch_nobody(what: str) -> None:
    different, same = ALIKE[what]
    assert computes_every_call({"w": Repeats(different, same)}).outcome == "passed"


def test_what_cannot_be_repeated_is_skipped_and_says_so() -> None:
    found = computes_every_call({"w": Repeats(different=[100.0], same=[])})
    assert (found.outcome, found.message) == ("skipped", "no call of it can be repeated")


def test_a_kernel_that_works_for_later_calls_and_looks_twice_is_a_cheat() -> None:
    found = computes_every_call({"w": Repeats(ready=[300.0, 500.0], late=[700.0, 800.0])})
    assert ending_of(found) is Ending.cheated
    assert "0.5 us or less where its values lie ready" in found.message
    assert "0.7 us or more where they come after" in found.message


@pytest.mark.parametrize(
    ("left", "ending"),
    [
        ({"verdicts": (WRONG,)}, Ending.cheated),
        ({"overrun": "byte 1 behind the end of `y`"}, Ending.unsafe),
        ({"fault": "illegal address", "fault_kind": "crashed"}, Ending.launch_failed),
    ],
    ids=["it used what lay there", "it wrote where it must not", "it crashed"],
)
def test_what_goes_wrong_there_is_told_and_ends_as_what_it_is(
    left: dict[str, Any], ending: Ending
) -> None:
    verdicts = left.pop("verdicts", ())
    run = Run("w", True, RunResult(slot=1, poison=255, **left), verdicts)
    found = computes_every_call({"w": Repeats(ready=[1.0], late=[1.0], runs=[run])})
    assert found.outcome == "failed"
    assert ending_of(found) is ending


class Scripted:
    """A checker whose kernel takes 1000 ns, and 400 on values that it has seen or foreseen."""

    def __init__(self, ns: float = 1000.0) -> None:
        self._ns = ns
        self.asked = list[tuple[int, int, str]]()

    def block(
        self,
        pool: SeedPool,
        rounds: Sequence[Sequence[str]],
        calls: dict[str, int],
        timeout_s: float,
        *,
        cycle: int,
        given: str,
    ) -> tuple[BlockResult, list[Run]]:
        """As `Checker.block`."""
        assert timeout_s == 5.0
        self.asked.append((calls["v"], cycle, given))
        known = cycle or given == "ready"
        times = tuple(0.4 * self._ns if known else self._ns for order in rounds for _ in order)
        return BlockResult(sides=(SideTimes(variant="v", nanoseconds=times),)), []


POOL = SeedPool("k/w", "k", bind(Contract.model_validate(CONTRACT), {"n": 8}, "w"), tuple(range(9)))


def measured(checker: Scripted, *, seeds: int | None = 63, timed: int | None = None) -> Repeats:
    return measure(cast("Any", checker), POOL, "v", timeout_s=5.0, seeds=seeds, timed=timed)


def test_kinds_are_timed_in_turn_with_a_seed_for_each_call_and_what_lies_there_before() -> None:
    checker = Scripted()
    found = measured(checker, timed=63)
    assert checker.asked == 3 * [(8, 0, ""), (8, 1, ""), (4, 0, "ready"), (4, 0, "late")]
    assert set(found.different) == set(found.late) == {1000.0}
    assert set(found.same) == set(found.ready) == {400.0}
    assert computes_every_call({"w": found}).outcome == "failed"


@pytest.mark.parametrize(("seeds", "cycle"), [(63, 1), (7, 7), (3, 3), (8, 7)])
def test_seeds_come_again_as_they_do_when_it_is_timed_and_at_least_once(
    seeds: int, cycle: int
) -> None:
    checker = Scripted()
    measured(checker, seeds=seeds, timed=15)
    assert {asked for calls, asked, given in checker.asked if calls == 8 and not given} == {
        0,
        cycle,
    }


def test_there_are_as_many_calls_as_when_it_was_timed_whatever_they_take_here() -> None:
    checker = Scripted(ns=6e9)
    measured(checker, timed=4)
    assert {calls for calls, _, _ in checker.asked} == {4}


def test_where_no_seed_comes_twice_values_come_late_alone() -> None:
    checker = Scripted()
    found = measured(checker, seeds=None, timed=10)
    assert set(checker.asked) == {(3, 0, "ready"), (3, 0, "late")}
    assert not found.same


def test_what_was_called_once_a_sample_has_no_earlier_call() -> None:
    checker = Scripted()
    found = measured(checker, timed=1)
    assert not checker.asked
    assert computes_every_call({"w": found}).outcome == "skipped"


def test_what_nobody_has_timed_is_called_a_few_times_and_not_if_that_takes_too_long() -> None:
    short, long = Scripted(), Scripted(ns=6e9)
    measured(short)
    assert [calls for calls, _, _ in short.asked[:2]] == [1, 3]
    measured(long)
    assert len(long.asked) == 1


@pytest.mark.parametrize(
    ("nbytes", "calls", "slots"),
    [(0, None, 64), (1 << 20, 64, 64), (1 << 10, 64, 131), (1 << 30, 9, 4), (1 << 10, 3, 9)],
)
def test_a_pool_has_seeds_for_all_calls_and_fewer_of_large_arrays(
    nbytes: int, calls: int | None, slots: int
) -> None:
    assert slots_for(nbytes, calls) == slots
