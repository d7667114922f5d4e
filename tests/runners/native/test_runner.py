"""What a host variant finds in its buffers, and what of its time counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import lift
import numpy as np
import numpy.typing as npt
import pytest

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import cache_folder
from kernelwright.runners.native.executor import STOPPING_NS, Executor, late_ns
from kernelwright.runners.native.executor_binary import compile_executor
from kernelwright.runners.native.process import NativeRunner
from kernelwright.runners.native.sample_sets import WARM_UP_SLOT
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.protocol.messages import Block, Check, Load, Pool
from kernelwright.runners.protocol.shared_arena import SharedArena

SLOTS, SIZE, POISON = 40, 512, 0xA5
WORKLOAD = "usual"


def rows() -> npt.NDArray[np.float32]:
    """Values of each slot, (SLOTS, SIZE) float32."""
    return np.random.default_rng(7).standard_normal((SLOTS, SIZE), dtype=np.float32)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[NativeRunner]:
    """A runner that knows `lift` twice, as `one` and `other`, and a pool of it."""
    cores = os.sched_getaffinity(0)
    builder = Builder(tmp_path / "modules", tmp_path / "scratch")
    wanted = lift.build_request(tmp_path, 1)
    shape = wanted.shapes[0].model_copy(update={"symbols": {"n": SIZE}})
    artifact = builder.build(wanted.model_copy(update={"shapes": (shape,)})).artifact
    assert artifact is not None
    made = NativeRunner(compile_executor(tmp_path, cache_folder(tmp_path)))
    modules = {m.sha256: str(builder.module_path(m)) for m in artifact.modules}
    for name in ("one", "other"):
        made.load(Load(variant=name, modules=modules, plans=tuple(artifact.plans.values())))
    fd = os.memfd_create("values")
    os.write(fd, rows().tobytes())
    contract = wanted.kernel.spec.io
    pool = Pool(pool="pool", contract=contract, symbols={"n": SIZE}, label=WORKLOAD, slots=SLOTS)
    made.pool(pool, fd)
    yield made
    made.rest()
    builder.close()
    os.close(fd)
    os.sched_setaffinity(0, cores)


@pytest.fixture
def before_its_code(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """All buffers each time right before code of a variant is loaded, or called."""
    found, start, run = list[bytes](), Executor.__init__, Executor.run

    def started(
        self: Executor,
        binary: Path,
        module: Path,
        plan: LaunchPlan,
        shared: SharedArena,
        cores: frozenset[int],
        environment: dict[str, str],
        answers: bool,
        shortly: bool,
    ) -> None:
        found.append(shared.memory.tobytes())
        start(self, binary, module, plan, shared, cores, environment, answers, shortly)

    def ran(self: Executor, sets: Sequence[int], timeout_s: float) -> int:
        found.append(self.shared.memory.tobytes())
        return run(self, sets, timeout_s)

    monkeypatch.setattr(Executor, "__init__", started)
    monkeypatch.setattr(Executor, "run", ran)
    return found


def answers() -> list[bytes]:
    """The outputs of all slots but that of the warm-up, which is never timed."""
    return [(2 * row + 1).tobytes() for row in rows()[WARM_UP_SLOT + 1 :]]


@pytest.mark.parametrize("calls", [{"one": 4, "other": 4}, {"one": 4, "other": 1}])
def test_no_answer_of_another_side_lies_in_the_buffers_of_a_sample(
    runner: NativeRunner, before_its_code: list[bytes], calls: dict[str, int]
) -> None:
    order = ("one", "other")
    for _ in range(2):
        block = Block(
            pool="pool",
            rounds=(order, order[::-1], order),
            calls=calls,
            poison=POISON,
            timeout_s=5.0,
            reload=True,
        )
        sides, fd = runner.block(block)
        os.close(fd)
        assert all(side.nanoseconds and not side.fault for side in sides)
    assert before_its_code
    assert not any(answer in memory for memory in before_its_code for answer in answers())


def test_a_hidden_seed_takes_the_place_of_one_call_s_and_no_other_call_has_it(
    runner: NativeRunner,
) -> None:
    hidden = ((37,), (38,), (), (39,))
    block = Block(
        pool="pool",
        rounds=(("one",),) * len(hidden),
        calls={"one": 6},
        poison=POISON,
        timeout_s=5.0,
        hidden=hidden,
    )
    (side,), fd = runner.block(block)
    os.close(fd)
    assert not side.fault
    met = [result.slot for result in side.results]
    assert sorted(slot for slot in met if slot >= 37) == [37, 38, 39]
    assert len(met) >= 4 * 5, "as many calls as usual"


def test_buffers_that_are_placed_anew_lie_elsewhere_and_are_right_for_all_sides(
    runner: NativeRunner, before_its_code: list[bytes]
) -> None:
    where, digests = set[int](), dict[int, set[str]]()
    for seed in range(4):
        block = Block(
            pool="pool",
            rounds=(("one", "other"), ("other", "one")),
            calls={"one": 2, "other": 2},
            poison=POISON,
            timeout_s=5.0,
            reload=True,
            placed=seed,
        )
        before_its_code.clear()
        sides, fd = runner.block(block)
        os.close(fd)
        for result in (each for side in sides for each in side.results):
            assert not (result.fault or result.overrun or result.changed_inputs)
            digests.setdefault(result.slot, set()).add(result.digest)
        first = rows()[WARM_UP_SLOT].tobytes()
        found = {memory.find(first) for memory in before_its_code} - {-1}
        assert len(found) == 1, "alike for all sides"
        where |= found
    assert len(where) > 1
    assert all(len(each) == 1 for each in digests.values()), "the same values, wherever they lie"


def test_calls_with_warm_caches_are_told_and_their_outputs_judged_by_nobody(
    runner: NativeRunner, before_its_code: list[bytes]
) -> None:
    order = ("one", "other")
    block = Block(
        pool="pool",
        rounds=(order, order[::-1]),
        calls={"one": 3},
        poison=POISON,
        timeout_s=5.0,
        hot=True,
        placed=5,
    )
    sides, fd = runner.block(block)
    os.close(fd)
    assert [len(side.nanoseconds) for side in sides] == [2, 2]
    assert not any(side.results for side in sides)
    values, first = rows(), before_its_code[0].find(rows()[WARM_UP_SLOT].tobytes())
    assert first >= 0, "values of the seed that is never timed"
    assert not any(row.tobytes() in m for m in before_its_code for row in values[1:])


def test_no_answer_of_another_variant_lies_in_the_buffers_of_a_check(
    runner: NativeRunner, before_its_code: list[bytes]
) -> None:
    for variant in ("one", "other"):
        slots, poisons = (1, 2), (POISON, POISON)
        check = Check(variant=variant, pool="pool", slots=slots, poisons=poisons, timeout_s=5.0)
        results, fd = runner.check(check)
        os.close(fd)
        assert [result.fault for result in results] == ["", ""]
    assert not any(answer in memory for memory in before_its_code for answer in answers())


def test_the_time_in_which_threads_are_stopped_is_not_counted() -> None:
    assert late_ns(passed=3_000_000, worked=STOPPING_NS, threads=1) == 0
    assert late_ns(passed=3_000_000, worked=8 * STOPPING_NS, threads=8) == 0


def test_work_after_the_word_that_it_was_done_is_counted() -> None:
    late = 1_000_000
    assert late_ns(passed=3 * late, worked=late + STOPPING_NS, threads=1) == late
    assert late_ns(passed=late, worked=50 * late, threads=2) == late, "never more than passed"


@pytest.mark.parametrize(("call_ns", "calls"), [(1_000, 3), (20_000_000, 2)])
def test_a_long_call_warms_up_once(
    runner: NativeRunner, monkeypatch: pytest.MonkeyPatch, call_ns: int, calls: int
) -> None:
    """A second one would cost as much again in every block, and change nothing."""
    run, seen = Executor.run, list[int]()

    def lasting(self: Executor, sets: Sequence[int], timeout_s: float) -> int:
        seen.append(len(sets))
        run(self, sets, timeout_s)
        return call_ns * len(sets)

    monkeypatch.setattr(Executor, "run", lasting)
    block = Block(
        pool="pool", rounds=(("one",),), calls={"one": 1}, poison=POISON, timeout_s=5.0, reload=True
    )
    sides, fd = runner.block(block)
    os.close(fd)
    assert seen == [1] * calls
    assert sides[0].nanoseconds == (call_ns,)
