"""Threads that build and measure side by side: order, turns, quiet, and what an error does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kernelwright.evaluation.rig.quiet_host import QuietHost
from kernelwright.evaluation.scheduling.build_ahead import BuildAhead
from kernelwright.evaluation.scheduling.device_queues import DeviceQueues, KeyedLocks
from kernelwright.evaluation.scheduling.pipeline import Left, Stages, run_through
from kernelwright.runners.errors import ProcessLost
from kernelwright.runners.model import Variant
from kernelwright.runners.toolchains import BuildOutcome

PATIENCE_S = 20.0


def variant(number: int) -> Variant:
    return Variant(kernel_id="k", source=f"// {number}", source_key=f"{number}")


def test_what_is_built_first_is_measured_first_and_nothing_is_left_out() -> None:
    others_built = threading.Event()

    def build(number: int) -> int:
        if number == 0:
            assert others_built.wait(PATIENCE_S)
        return number

    def measure(number: int, lane: str, _: Left) -> tuple[int, str]:
        if number == 5:
            others_built.set()
        return number, lane

    found = list(run_through(range(6), Stages(build, measure, ["one"], builders=4)))
    assert found == [(1, "one"), (2, "one"), (3, "one"), (4, "one"), (5, "one"), (0, "one")]


def test_items_are_taken_no_further_ahead_than_there_are_builders_and_lanes() -> None:
    taken = list[int]()

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    def build(number: int) -> int:
        return number

    def measure(number: int, lane: int, _: Left) -> int:
        return number + lane

    stages = Stages(build, measure, [0], builders=2)
    results = run_through(items(), stages)
    next(results)
    assert len(taken) <= stages.ahead
    results.close()
    assert len(taken) <= stages.ahead


def test_two_lanes_measure_at_the_same_time() -> None:
    both = threading.Barrier(2)

    def measure(number: int, lane: str, _: Left) -> str:
        both.wait(PATIENCE_S)
        return lane

    found = run_through(range(8), Stages(lambda n: n, measure, ["a", "b"], builders=1))
    assert sorted(found) == ["a"] * 4 + ["b"] * 4


def test_a_lane_that_was_left_measures_the_next_item_before_the_result_is_there() -> None:
    next_one, measured = threading.Event(), list[int]()

    def measure(number: int, lane: str, left: Left) -> int:
        measured.append(number)
        if number == 0:
            left()
            assert next_one.wait(PATIENCE_S), "nobody took the next item"
        else:
            next_one.set()
        return number

    found = list(run_through(range(3), Stages(lambda n: n, measure, ["one"], builders=1)))
    assert sorted(found) == measured == [0, 1, 2]


def test_a_lane_that_nobody_left_measures_one_item_at_a_time() -> None:
    under_way, most = set[int](), 0

    def measure(number: int, lane: str, _: Left) -> int:
        nonlocal most
        under_way.add(number)
        most = max(most, len(under_way))
        threading.Event().wait(0.001)  # gives way to whoever else would begin
        under_way.remove(number)
        return number

    found = list(run_through(range(20), Stages(lambda n: n, measure, ["one"], builders=4)))
    assert sorted(found) == list(range(20))
    assert most == 1


@pytest.mark.parametrize("stage", ["build", "measure"])
def test_what_a_stage_raises_is_raised_to_whoever_reads(stage: str) -> None:
    def fail(number: int, *_: object) -> int:
        if number == 2:
            raise ProcessLost("gone")
        return number

    def keep(number: int, *_: object) -> int:
        return number

    build, measure = (fail, keep) if stage == "build" else (keep, fail)
    with pytest.raises(ProcessLost, match="gone"):
        list(run_through(range(4), Stages(build, measure, [None], builders=2)))
    assert not [t for t in threading.enumerate() if t.name == "lane"]


def test_builds_and_timing_on_the_host_keep_out_of_each_others_way() -> None:
    quiet, timing, end, building = (
        QuietHost(),
        threading.Event(),
        threading.Event(),
        threading.Event(),
    )

    def time_it() -> None:
        with quiet.timing():
            timing.set()
            assert end.wait(PATIENCE_S)

    def build() -> None:
        with quiet.building():
            building.set()

    with ThreadPoolExecutor(2) as threads:
        with quiet.building(), quiet.building():
            threads.submit(time_it)
            assert not timing.wait(0.1), "builds are under way"
        assert timing.wait(PATIENCE_S)
        threads.submit(build)
        assert not building.wait(0.1), "a kernel is timed"
        end.set()
        assert building.wait(PATIENCE_S)


def test_a_device_has_one_worker_at_a_time_and_others_do_not_wait_for_it() -> None:
    paused = list[str]()
    turns = DeviceQueues(paused.append, {"device": 0.0, "native": 1e6})

    def enter(device: str) -> str:
        with turns.turn(device):
            return device

    with ThreadPoolExecutor(2) as threads:
        with turns.turn("GPU-1"):
            same = threads.submit(enter, "GPU-1")
            assert threads.submit(enter, "GPU-2").result(PATIENCE_S) == "GPU-2"
            with turns.turn("GPU-1"):
                pass  # the same thread may nest
            assert not same.done()
            assert paused == ["GPU-2"], "without patience it is paused after every turn"
        assert same.result(PATIENCE_S) == "GPU-1"
    assert paused == ["GPU-2", "GPU-1", "GPU-1"]
    turns.close()


def test_names_lock_apart_and_leave_nothing_behind() -> None:
    alone, most, now = KeyedLocks(), 0, 0
    guard = threading.Lock()

    def work(_: int) -> None:
        nonlocal most, now
        with alone.at("x"), alone.at("x"):
            with guard:
                now += 1
                most = max(most, now)
            with guard:
                now -= 1

    with ThreadPoolExecutor(8) as threads, alone.at("y"):
        list(threads.map(work, range(100)))
    assert most == 1
    with alone.at("x"):
        pass


def test_the_latest_wishes_are_built_and_taken_once() -> None:
    begun, go_on = threading.Event(), threading.Event()
    built = list[str]()

    def build(wanted: Variant) -> BuildOutcome:
        begun.set()
        assert go_on.wait(PATIENCE_S)
        built.append(wanted.source)
        if wanted.source == "// 9":
            raise ProcessLost("nobody asked for it yet")
        return BuildOutcome(message=wanted.source)

    ahead = BuildAhead(build, workers=1)
    ahead.wish([variant(0), variant(1), variant(2)])
    assert begun.wait(PATIENCE_S)
    ahead.wish([variant(9), variant(3)])
    go_on.set()
    deadline = time.monotonic() + PATIENCE_S
    while len(built) < 3 and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert built == ["// 0", "// 9", "// 3"], "0 was begun with, 1 and 2 are wanted no longer"
    first = ahead.take(variant(0).variant_id)
    assert first is not None and first.message == "// 0"
    assert ahead.take(variant(0).variant_id) is None
    assert ahead.take(variant(9).variant_id) is None, "who asks in earnest builds it again"
    ahead.close()
