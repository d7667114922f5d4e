"""The incumbent set on a GPU, real or pretended: a process of its own beside the warm one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import gpu_lift
import pytest
from device_kernels import GPUS, gpu_of

from kernelwright.evaluation.incumbent_set import Promoted, promote
from kernelwright.evaluation.rig.fresh_runner import FreshRunner
from kernelwright.evaluation.rig.gpus import Gpus
from kernelwright.evaluation.rig.open_kernel import OpenKernel, open_state
from kernelwright.evaluation.rig.rig import Rig
from kernelwright.evaluation.trials import BuiltVariant
from kernelwright.runners.gates import Run, ending_of, first_failure
from kernelwright.runners.gates.incumbent import is_deterministic
from kernelwright.runners.gates.repeats import Repeats
from kernelwright.runners.model import Ending, GateResult
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.proxies import runner
from kernelwright.runners.specs.normalise import source_key

PATIENCE_S = 60.0
WORKLOADS = [{"name": "usual", "symbols": {"n": 2048}}]


@pytest.fixture(scope="module", params=GPUS)
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    folder = tmp_path_factory.mktemp(request.param)
    with gpu_of(request.param, folder):
        rig = Rig(folder / "modules", folder / "scratch", Gpus(folder))
        yield rig
        rig.close()


@pytest.fixture(scope="module")
def kernel(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> OpenKernel:
    loaded = gpu_lift.load(tmp_path_factory.mktemp("lift"), workloads=WORKLOADS)
    kernel = open_state(loaded, None, rig.gpus.target(loaded))
    rig.attach(kernel)
    return kernel


def promoted(rig: Rig, kernel: OpenKernel, source: str) -> Promoted:
    baseline = kernel.loaded.baseline()
    changed = {"source": source, "source_key": source_key(source, "cuda")}
    variant = baseline.model_copy(update=changed)
    outcome = rig.build(kernel, variant)
    assert outcome.artifact is not None, outcome.message
    return promote(rig, kernel, BuiltVariant(variant, outcome.artifact), baseline)


def test_an_honest_kernel_passes_every_gate_beside_the_warm_runner(
    rig: Rig, kernel: OpenKernel
) -> None:
    built = rig.build(kernel, kernel.loaded.baseline())
    assert built.artifact is not None
    rig.load(kernel, built.artifact)
    before = rig.check(kernel, built.artifact.variant_id)
    found = promoted(rig, kernel, gpu_lift.SOURCE.replace("r < REPEAT", "r < 1"))
    assert first_failure(found.gates) is None, first_failure(found.gates)
    by_name = {gate.gate: gate.outcome for gate in found.gates}
    assert by_name["works_in_a_fresh_process"] == by_name["computes_anew"] == "passed"
    assert by_name["computes_every_call"] == "passed"
    assert by_name["works_on_other_shapes"] == by_name["survives_stress"] == "passed"
    assert any(name.startswith("sanitizer_") for name in by_name)
    assert is_deterministic(found.runs, asked=True).outcome == "passed"
    after = rig.check(kernel, built.artifact.variant_id)
    assert [run.result.digest for run in before] == [run.result.digest for run in after]


def test_the_sanitizer_runs_beside_gates_that_time_nothing(
    rig: Rig, kernel: OpenKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, stressed = threading.Event(), threading.Event()
    repeats, check = FreshRunner.repeats, FreshRunner.check

    def sanitize(*_: object) -> tuple[GateResult, ...]:
        began.set()
        beside = stressed.wait(PATIENCE_S)
        return (GateResult(gate="sanitizer", outcome="passed" if beside else "failed"),)

    def timed(
        fresh: FreshRunner, name: str, pool: SeedPool, seeds: int, calls: int | None
    ) -> Repeats:
        assert not began.is_set()
        return repeats(fresh, name, pool, seeds, calls)

    def checked(
        fresh: FreshRunner, name: str, pool: SeedPool, *slots: Any, **how: Any
    ) -> list[Run]:
        if any(kind and kind != "exchanged" for kind in pool.kinds):
            stressed.set()
        return check(fresh, name, pool, *slots, **how)

    monkeypatch.setattr(runner, "sanitize", sanitize)
    monkeypatch.setattr(FreshRunner, "repeats", timed)
    monkeypatch.setattr(FreshRunner, "check", checked)
    found = promoted(rig, kernel, gpu_lift.SOURCE.replace("r < REPEAT", "r < 1"))
    assert found.gates[-1] == GateResult(gate="sanitizer", outcome="passed")


def test_a_kernel_that_is_wrong_for_one_element_is_not_promoted(
    rig: Rig, kernel: OpenKernel
) -> None:
    failed = first_failure(promoted(rig, kernel, gpu_lift.spoiled("if (n == 1) return;")).gates)
    assert failed is not None
    assert failed.gate == "works_on_other_shapes"
    assert ending_of(failed) is Ending.wrong
