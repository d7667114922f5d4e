"""What is told beside a comparison of callers that call otherwise than it does."""

from __future__ import annotations

import random
from typing import cast

from known_times import OVERHEAD_NS, POOL, Machine

from kernelwright.runners.comparing.as_called import FEWEST_PLACED, AsCalled, as_called
from kernelwright.runners.comparing.comparison import compare
from kernelwright.runners.comparing.settling import DEVICE, NATIVE, TimingPlan
from kernelwright.runners.gates.checking import Checker
from kernelwright.runners.model import Comparison, Ratio

LONG = {"a": 1_000_000.0, "b": 3_000_000.0}
SHORT = {"a": 50_000.0, "b": 150_000.0}


def called(machine: Machine, plan: TimingPlan = NATIVE) -> AsCalled:
    checker = cast("Checker", machine)
    return as_called(checker, [POOL], ("a", "b"), plan=plan, timeout_s=1.0, rng=random.Random(1))


def told(speedup: float, low: float, high: float) -> Ratio:
    return Ratio(over="b", speedup=speedup, low=low, high=high, judgement="faster")


def test_long_calls_are_timed_again_and_again_and_once_between_other_work() -> None:
    machine = Machine(LONG, {})
    found = called(machine)
    (warm,), (apart,) = found.warm, found.apart
    assert 2.9 < apart.speedup < warm.speedup < 3.1, "go and done weigh more on a single call"
    apart_calls = [c for c, hot in zip(machine.calls, machine.hot, strict=True) if c and not hot]
    assert len(apart_calls) >= FEWEST_PLACED
    assert all(calls == {"a": 1, "b": 1} for calls in apart_calls)


def test_samples_with_warm_caches_are_as_long_on_either_side_and_far_longer_than_a_start() -> None:
    machine = Machine(LONG, {})
    called(machine)
    samples = [c for c, hot in zip(machine.calls, machine.hot, strict=True) if hot]
    assert samples
    for calls in samples:
        lengths = [LONG[side] * count for side, count in calls.items()]
        assert min(lengths) > 500 * OVERHEAD_NS
        assert max(lengths) < 1.2 * min(lengths)


def test_each_of_their_blocks_has_buffers_of_its_own() -> None:
    machine = Machine(LONG, {})
    called(machine)
    places = [p for p, calls in zip(machine.placed, machine.calls, strict=True) if calls]
    assert None not in places
    assert len(set(places)) == len(places)


def test_single_calls_that_are_no_longer_than_it_takes_to_say_go_are_not_told() -> None:
    found = called(Machine(SHORT, {}))
    assert found.warm
    assert not found.apart


def test_a_gpu_tells_medians_of_warm_caches_alone() -> None:
    found = called(Machine(LONG, {}), DEVICE)
    assert found.warm_ms.keys() == {"w"}
    assert (found.warm, found.apart) == ((), ())


def test_the_interval_that_is_told_holds_every_way_of_calling() -> None:
    machine = Machine(LONG, {})
    compared = compare(
        cast("Checker", machine),
        [POOL],
        "a",
        ["b"],
        plan=NATIVE,
        timeout_s=1.0,
        rng=random.Random(1),
        placed=True,
    ).comparison
    assert compared is not None
    beside = AsCalled(warm=(told(5, 4, 6),), apart=(told(2, 1.5, 2.5),)).beside(compared)
    assert compared.ratios[0].low > 2
    assert beside.seen_by("b") == (1.5, 6)
    assert beside.ratios == compared.ratios, "and what is judged stays as it was"


def test_who_took_no_part_has_no_interval() -> None:
    nobody = Comparison(
        candidate="a", ratios=(), workloads=(), resolution=0.02, samples=0, seconds=0
    )
    assert nobody.seen_by("b") is None
