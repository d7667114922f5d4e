"""ncu on a GPU: a planted fault comes first among the findings, and vanishes when repaired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from device_kernels import CONTRACT, Code, DeviceBench, gpu_of, plan_of
from planted_kernels import PAIRS, N, profiled

from kernelwright.analysis.rules.card import card
from kernelwright.analysis.rules.findings import findings
from kernelwright.runners.profiling import readers
from kernelwright.runners.profiling.permission import why_no_counters
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.devices import PROFILES, DeviceFacts
from kernelwright.runners.specs.io_contract import Contract
from kernelwright.runners.toolchains.cuda_request import present

needs_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(readers.program() is None, reason="no ncu here"),
    pytest.mark.skipif(bool(why_no_counters()), reason=why_no_counters()),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DeviceBench, DeviceFacts]]:
    with gpu_of("real", tmp_path_factory.mktemp("gpu")) as gpu:
        folder = tmp_path_factory.mktemp("bench")
        made = DeviceBench.of(gpu.device, folder, symbols={"n": N}, slots=1)
        yield made, gpu.device
        made.runner.close()


@pytest.mark.skipif("nvrtc" not in present(), reason="no NVRTC here")
@pytest.mark.parametrize("rule", PAIRS)
def test_planted_kernels_compile_and_have_a_plan(rule: str, tmp_path: Path) -> None:
    bound = bind(Contract.model_validate(CONTRACT), {"n": N}, "w")
    for kernel in (PAIRS[rule].faulty, PAIRS[rule].repaired):
        code = Code.of(kernel.source, tmp_path, "sm_90a")
        plan = plan_of(code, bound, **kernel.changes(PROFILES[0][0]))
        (launch,) = plan.launches
        assert launch.grid[0] * kernel.block <= N


@pytest.mark.parametrize("rule", [pytest.param(rule, marks=needs_gpu) for rule in PAIRS])
def test_a_planted_fault_comes_first_and_vanishes_when_repaired(
    rule: str, bench: tuple[DeviceBench, DeviceFacts], tmp_path: Path
) -> None:
    pair = PAIRS[rule]
    faulty = profiled(*bench, pair.faulty, tmp_path / "faulty.ncu-rep")
    found = findings(faulty, pair.facts)
    assert found.ranked and found.ranked[0].rule == rule, card(faulty, found)
    repaired = profiled(*bench, pair.repaired, tmp_path / "repaired.ncu-rep")
    left = findings(repaired, pair.facts)
    assert rule in left.silent, card(repaired, left)
