"""Blocks on their way into a comparison: which count, why others do not, and what is told."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from kernelwright.runners.comparing.session import Session
from kernelwright.runners.comparing.settling import DEVICE, NATIVE, TimingPlan
from kernelwright.runners.comparing.taken_blocks import Times
from kernelwright.runners.device.presence.conditions import Watch
from kernelwright.runners.model import Comparison, Conditions
from kernelwright.runners.protocol.messages import BlockResult, SideTimes
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

CONTRACT = Contract.model_validate(
    {"arguments": [{"name": "y", "role": "output", "dtype": "float32", "shape": [4]}]}
)
POOL = SeedPool("k/w", "k", bind(CONTRACT, {}, "w"), (1, 2))
COOL = Conditions(sm_mhz=(1980, 1980), celsius=(40, 41))


def session(plan: TimingPlan = DEVICE, sides: tuple[str, ...] = ("a", "b")) -> Session:
    times = Times(POOL, dict.fromkeys(sides, 1), frozenset(), 1)
    return Session(sides, plan, time.monotonic(), [times])


def block(
    a: float, b: float, conditions: Conditions = COOL, held: tuple[float, ...] = ()
) -> BlockResult:
    """Two samples a side, of so many microseconds; `held`: shares of those of side a."""
    disturbed = {"a": held or (0.0, 0.0), "b": (0.0, 0.0)}
    sides = tuple(
        SideTimes(variant=v, nanoseconds=(1e3 * us, 1e3 * us), disturbed=disturbed[v])
        for v, us in (("a", a), ("b", b))
    )
    return BlockResult(sides=sides, conditions=conditions)


def fed(on: Session, *blocks: BlockResult, why_not: str = "") -> Session:
    for each in blocks:
        on.times[0].add(each, on.load, on.plan, why_not)
    return on


def judged(on: Session) -> tuple[str, float]:
    found = on.result()
    return found.ratios[0].judgement, found.resolution


WAVE = [block(10 + 0.001 * (-1) ** i, 10) for i in range(60)]


def test_a_load_lasts_for_as_many_blocks_as_the_plan_says() -> None:
    on, reloaded = session(), list[bool]()
    for each in WAVE[:7]:
        reloaded.append(on.reloads)
        fed(on, each)
    assert reloaded == [False, False, False, True, False, False, True]
    assert on.result().workloads[0].loads == (0, 0, 0, 1, 1, 1, 2)


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (COOL.model_copy(update={"strangers": (77,)}), "another process on the GPU: 77"),
        (COOL.model_copy(update={"reasons": ("hw_thermal",)}), "clocks held down: hw_thermal"),
        (COOL.model_copy(update={"sm_mhz": (1980, 1400)}), "1400 MHz, after 1980 MHz before"),
    ],
    ids=["stranger", "throttled", "low clock"],
)
def test_a_spoiled_block_is_dropped_with_its_reason(conditions: Conditions, why: str) -> None:
    on = fed(session(), *WAVE[:11], block(30, 10, conditions), WAVE[11])
    found = on.result()
    assert found.workloads[0].spoiled == {"11": why}
    assert (found.blocks, found.dropped_blocks, len(found.workloads[0].loads)) == (13, 1, 12)
    assert max(found.workloads[0].blocks_ms["a"]) < 0.02
    assert found.ratios[0].judgement == "tie"


@pytest.mark.parametrize(
    "conditions",
    [
        COOL.model_copy(update={"reasons": ("sw_power_cap",), "sm_mhz": (1980, 1400)}),
        COOL.model_copy(update={"sm_mhz": (345, 1980)}),
        Conditions(),
    ],
    ids=["power cap", "clock that has only just come up", "nothing known"],
)
def test_what_all_sides_share_drops_nothing(conditions: Conditions) -> None:
    on = fed(session(), WAVE[0], block(10, 10, conditions), WAVE[2])
    assert on.clean == on.count == 3


def test_a_block_needs_one_sample_of_every_side_that_nobody_held_up() -> None:
    on = fed(session(), block(10, 10, held=(0.5, 0.0)), block(10, 10, held=(0.5, 0.5)))
    assert (on.count, on.clean) == (2, 1)
    assert on.times[0].spoiled == {"1": "every sample of a side was held up"}


def test_clocks_and_temperatures_are_kept_for_each_block() -> None:
    warmer = Conditions(sm_mhz=(1900, 1800), celsius=(41, 55), reasons=("sw_power_cap",))
    found = fed(session(), WAVE[0], block(10, 10, warmer), WAVE[2]).result()
    assert found.workloads[0].sm_mhz == (1980, 1800, 1980)
    assert found.workloads[0].celsius == (41, 55, 41)
    assert found.conditions == Conditions(
        sm_mhz=(1800, 1980), celsius=(40, 55), reasons=("sw_power_cap",)
    )


def test_too_few_undisturbed_blocks_are_unstable_and_not_a_tie() -> None:
    on = fed(fed(session(), *WAVE[:5]), *WAVE[5:20], why_not="stolen")
    assert judged(on) == ("unstable", DEVICE.disturbed_resolution)


def test_too_few_undisturbed_blocks_still_tell_a_gross_difference() -> None:
    slow = [block(20 + 0.01 * i, 10) for i in range(20)]
    on = fed(session(NATIVE), *slow[:11], why_not="stolen")
    assert on.enough()
    assert judged(on) == ("slower", NATIVE.disturbed_resolution)


def test_beside_others_on_the_machine_a_gross_loss_to_the_first_is_enough() -> None:
    sides = ("a", "b", "baseline")
    on = session(NATIVE, sides)
    for i in range(NATIVE.max_blocks):
        if on.enough():
            break
        lost = block(30 + 0.1 * i, 10)
        near = SideTimes(variant="baseline", nanoseconds=(31e3,), disturbed=(0.0,))
        fed(on, lost.model_copy(update={"sides": (*lost.sides, near)}), why_not="stolen")
    assert NATIVE.min_blocks <= on.count < NATIVE.careful_blocks
    assert [each.judgement for each in on.result().ratios] == ["slower", "unstable"]


def test_two_clean_blocks_of_a_gross_difference_are_enough() -> None:
    on = fed(session(), block(30, 10))
    assert not on.enough()
    assert fed(on, block(31, 10)).enough()
    assert judged(on) == ("slower", 0.5)


def test_near_ties_are_asked_for_more_until_the_last_look() -> None:
    wide = [block(10 + 0.4 * (-1) ** i, 10) for i in range(60)]
    on = session()
    for each in wide[:-1]:
        assert not fed(on, each).enough()
    assert fed(on, wide[-1]).enough()


def test_a_baseline_alone_needs_the_fewest_blocks_that_say_anything() -> None:
    on = Session(("a",), DEVICE, time.monotonic(), [Times(POOL, {"a": 1}, frozenset(), 1)])
    assert not on.enough()
    sides = (WAVE[0].sides[0],)
    for _ in range(DEVICE.min_blocks):
        assert not on.enough()
        fed(on, BlockResult(sides=sides, conditions=COOL))
    assert on.enough()
    assert on.result().workloads[0].median_ms == {"a": pytest.approx(0.010001)}


def test_out_of_time_with_too_few_blocks_is_unstable() -> None:
    hasty = replace(DEVICE, longest_s=-1.0)
    on = fed(session(hasty), WAVE[0], WAVE[1])
    assert on.enough()
    assert judged(on)[0] == "unstable"


def test_a_ratio_that_moves_while_the_baseline_drifts_is_unstable() -> None:
    def drifting(a_too: bool) -> Comparison:
        slower = [1 + 0.08 * i / 59 for i in range(60)]
        blocks = [block(9.9 * (f if a_too else 1), 10 * f) for f in slower]
        on = fed(session(), *blocks)
        return on.result()

    shared, alone = drifting(True), drifting(False)
    assert shared.drift == pytest.approx(0.05, abs=0.01) == alone.drift
    assert shared.ratios[0].judgement == "faster"
    assert alone.ratios[0].judgement == "unstable"


def _nvml() -> ModuleType:
    """NVML's functions that a watch asks, on one warm GPU."""
    module = ModuleType("pynvml")
    running = [SimpleNamespace(pid=1), SimpleNamespace(pid=2)]
    answers: dict[str, Any] = {
        "nvmlInit": None,
        "nvmlDeviceGetHandleByUUID": "gpu",
        "nvmlDeviceGetClockInfo": 1755,
        "nvmlDeviceGetTemperature": 61,
        "nvmlDeviceGetCurrentClocksThrottleReasons": 0x4 | 0x40,
        "nvmlDeviceGetComputeRunningProcesses": running,
    }
    for name, answer in answers.items():
        setattr(module, name, Mock(return_value=answer))
    vars(module).update(NVML_CLOCK_SM=1, NVML_TEMPERATURE_GPU=0, NVMLError=OSError)
    return module


def test_a_watch_tells_clock_temperature_reasons_and_strangers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _nvml())
    watch = Watch("GPU-0", 1, tmp_path)
    assert watch.conditions(watch.state()) == Conditions(
        sm_mhz=(1755, 1755),
        celsius=(61, 61),
        reasons=("sw_power_cap", "hw_thermal"),
        strangers=(2,),
    )


def test_a_watch_without_nvml_knows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    watch = Watch("GPU-0", 1, tmp_path)
    assert watch.conditions(watch.state()) == Conditions()


def crowded(b: float, others_s: float, crowded: bool = True) -> BlockResult:
    """A block of 0.2 s: side a takes 10 us, and waited for half of each sample; `b` is a side that
    fits its cores, and did not wait. `others_s`: core seconds that others had."""
    times = {"a": (1e4, 1e4), "b": (1e3 * b, 1e3 * b)}
    sides = (
        SideTimes(variant="a", nanoseconds=times["a"], disturbed=(0.5, 0.5), crowded=crowded),
        SideTimes(variant="b", nanoseconds=times["b"], disturbed=(0.0, 0.0)),
    )
    return BlockResult(sides=sides, seconds=0.2, others_s=others_s)


@pytest.mark.parametrize(
    ("others_s", "crowd", "counting"),
    [(0.001, True, 20), (0.02, True, 0), (0.001, False, 0)],
    ids=["nobody else works", "another program works", "threads that fit their cores"],
)
def test_a_team_that_waits_for_itself_is_held_up_where_others_work_alone(
    others_s: float, crowd: bool, counting: int
) -> None:
    on = fed(session(NATIVE), *[crowded(12 + 0.01 * i, others_s, crowd) for i in range(20)])
    assert (on.clean, on.count) == (counting, 20)
    assert judged(on) == (("faster", 0.02) if counting else ("unstable", 0.25))


def test_what_others_had_is_known_of_all_blocks_together() -> None:
    """Ticks make one block look busy, and the next one idler than it can be."""
    ticks = [0.02, -0.02, 0.01, -0.01]
    on = fed(session(NATIVE), crowded(13, 0.02))
    assert on.clean == 0
    fed(on, *[crowded(13, had) for had in [*ticks, -0.02, *ticks]])
    assert (on.clean, on.times[0].spoiled) == (10, {})
    fed(on, *[crowded(13, 0.05) for _ in range(10)])
    assert on.clean == 0
    assert len(on.times[0].spoiled) == on.count == 20


def test_a_runner_that_does_not_tell_of_others_leaves_a_waiting_team_held_up() -> None:
    untold = crowded(13, 0.0).model_copy(update={"seconds": 0.0})
    assert fed(session(NATIVE), untold).clean == 0
