"""Comparisons on a GPU that is pretended: conditions, loads, warm caches, and who disturbs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from device_kernels import CONTRACT, RIGHT, DeviceBench
from pretend_gpu import PretendedGpu, pretended_gpu

from kernelwright.runners.comparing.as_called import as_called
from kernelwright.runners.comparing.comparison import compare
from kernelwright.runners.comparing.settling import DEVICE
from kernelwright.runners.gates import FIRST_SET, first_failure
from kernelwright.runners.gates.checking import Checker
from kernelwright.runners.model import Comparison, Conditions
from kernelwright.runners.oracle.messages import JudgeOutputs
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.protocol.messages import Block, BlockResult
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.io_contract import Contract

N = 600
TIMES = {"fast": 2000.0, "alike": 2000.0, "slow": 8000.0}
"""ns of a launch, which every block is given: those of the pretended GPU are a busy machine's"""


class Lenient:
    """An oracle without an opinion: whether outputs are right is not asked here."""

    def __init__(self, bench: DeviceBench) -> None:
        self._bench = bench

    def make_pool(self, pool: SeedPool) -> int:
        return self._bench.inputs_file(pool.slots)

    def judge(self, message: JudgeOutputs, fd: int) -> list[tuple[()]]:
        del fd
        return [() for _ in message.slots]


@dataclass
class Scene:
    """A runner on a pretended GPU: a fast and a slow kernel, and one like the fast one.

    `asked`: every block since it was last cleared.
    """

    gpu: PretendedGpu
    checker: Checker
    pool: SeedPool
    asked: list[Block] = field(default_factory=list[Block])

    def time_by(self, times: Mapping[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
        """Real blocks, with these times in the place of those that were taken."""
        take = self.checker.runner.block

        def block(message: Block) -> tuple[BlockResult, int]:
            result, fd = take(message)
            self.asked.append(message)
            return _timed(result, times, wave=len(self.asked) % 3), fd

        self.asked.clear()
        monkeypatch.setattr(self.checker.runner, "block", block)

    def compared(self, candidate: str, other: str) -> Comparison:
        found = compare(
            self.checker,
            [self.pool],
            candidate,
            [other],
            plan=DEVICE,
            timeout_s=20.0,
            rng=random.Random(3),
        )
        assert first_failure([gate(found.runs) for gate in FIRST_SET]) is None
        assert found.comparison is not None
        return found.comparison


def _timed(result: BlockResult, times: Mapping[str, float], wave: float) -> BlockResult:
    """The block with the time of each side, all moved alike by so many ns."""
    sides = [
        side.model_copy(
            update={"nanoseconds": tuple(times[side.variant] + wave for _ in side.nanoseconds)}
        )
        for side in result.sides
    ]
    return result.model_copy(update={"sides": tuple(sides)})


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("pretended")
    with pretended_gpu(folder) as gpu:
        bench = DeviceBench.of(gpu.device, folder, symbols={"n": N}, twins=gpu.twins)
        checker = Checker(bench.runner, cast("Oracle", Lenient(bench)))
        pool = SeedPool("k/compared", "k", bench.bound, (0, 1, 2, 3))
        checker.attach(pool, Contract.model_validate(CONTRACT))
        for name in TIMES:
            bench.load(name, RIGHT)
        yield Scene(gpu, checker, pool)
        bench.runner.close()


@pytest.fixture
def scene(pretended: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    pretended.time_by(TIMES, monkeypatch)
    return pretended


def test_a_clear_difference_takes_few_blocks_and_its_conditions_are_kept(scene: Scene) -> None:
    found = scene.compared("slow", "fast")
    (workload,) = found.workloads
    assert found.ratios[0].judgement == "slower"
    assert 2 <= found.blocks < DEVICE.careful_blocks
    assert found.conditions == Conditions(sm_mhz=(1980, 1980), celsius=(45, 45))
    assert len(workload.celsius) == len(workload.sm_mhz) == found.blocks
    assert found.busy_s > 0


def test_near_ties_run_on_code_that_is_loaded_again_and_again(scene: Scene) -> None:
    (workload,) = scene.compared("alike", "fast").workloads
    blocks = [b.reload for b in scene.asked[1:]]  # first comes a look at how long each side takes
    assert len(blocks) >= DEVICE.careful_blocks
    assert [i for i, reload in enumerate(blocks) if reload] == list(range(3, len(blocks), 3))
    assert list(workload.loads) == [i // 3 for i in range(len(blocks))]


def test_warm_times_are_told_beside_a_comparison(scene: Scene) -> None:
    sides = ("slow", "fast")
    hot = as_called(
        scene.checker, [scene.pool], sides, plan=DEVICE, timeout_s=20.0, rng=random.Random(5)
    )
    found = scene.compared(*sides)
    assert found.workloads[0].hot_ms == {}
    (workload,) = hot.beside(found).workloads
    assert workload.hot_ms["slow"] > workload.hot_ms["fast"] > 0
    assert hot.runs


def test_blocks_beside_a_stranger_are_dropped_and_nothing_near_is_told(scene: Scene) -> None:
    scene.gpu.tell_nvml(strangers=[1], celsius=80)
    try:
        found = scene.compared("alike", "fast")
    finally:
        scene.gpu.tell_nvml()
    (workload,) = found.workloads
    assert found.dropped_blocks == found.blocks > 0
    assert set(workload.spoiled.values()) == {"another process on the GPU: 1"}
    assert found.ratios[0].judgement == "unstable"
    assert found.conditions.strangers == (1,)
    assert found.conditions.celsius == (80, 80)
