"""Every GPU example builds for an H100, on a machine without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiers import cases

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import ToolchainMissing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_file
from kernelwright.runners.plans.plan import Fill
from kernelwright.runners.plans.plan_check import check_plan
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.devices import device_for
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape, toolchain_for

EXAMPLES = Path(__file__).parents[2] / "examples"
LAUNCHES = {
    "triton_vector_add": 1,
    "triton_softmax": 1,
    "triton_softmax_wrapper": 1,
    "triton_matmul": 1,
    "triton_matmul_autotuned": 1,
    "triton_reduction": 2,
    "cuda_vector_add": 1,
    "cuda_sum": 2,
    "cuda_transpose": 1,
    "cuda_sgemm": 1,
    "cuda_histogram": 1,
    "cuda_scale": 1,
}


def specs() -> dict[str, Path]:
    found = {p: json.loads(p.read_text(encoding="utf-8")) for p in EXAMPLES.glob("*/*.json")}
    return {d["name"]: p for p, d in found.items() if d["kernel"]["kernel_type"] != "cpp"}


def build(builder: Builder, loaded: LoadedKernel) -> BuildOutcome:
    """The baseline for all workloads, or a skip that says which tool is not here."""
    try:
        toolchain_for(loaded.spec.kernel.kernel_type)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    return builder.build(
        BuildRequest(
            kernel=loaded,
            variant=loaded.baseline(),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in loaded.spec.workloads),
            device=device_for(loaded.spec.device_profile, ()),
        )
    )


def test_all_gpu_examples_are_built_here() -> None:
    assert set(specs()) == set(LAUNCHES)


@cases(
    "name",
    LAUNCHES,
    why="further examples of a language, with as many launches",
    kinds=lambda name: [(name.partition("_")[0], LAUNCHES[name])],
    always=lambda name: name == "cuda_histogram",
)
def test_an_example_builds_for_an_h100(builder: Builder, name: str) -> None:
    path = specs()[name]
    loaded = load_file(path, Roots([path.parent]))
    outcome = build(builder, loaded)
    artifact = outcome.artifact
    assert artifact is not None, outcome.message
    assert artifact.target == "sm_90a"
    for workload in loaded.spec.workloads:
        plan = artifact.plans[workload.name]
        check_plan(plan, bind(loaded.spec.io, workload.symbols, workload.name))
        assert len(plan.launches) == LAUNCHES[name]
        fills = [step.fill for step in plan.steps if isinstance(step, Fill)]
        assert fills == (["bins"] if name == "cuda_histogram" else [])
    assert outcome.facts is not None
    assert all(k.spill_bytes in (None, 0) for k in outcome.facts.kernels)


def test_the_configurations_of_the_autotuned_example_are_found(builder: Builder) -> None:
    path = specs()["triton_matmul_autotuned"]
    outcome = build(builder, load_file(path, Roots([path.parent])))
    assert len(outcome.configurations) == 8
    assert {"BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"} <= set(outcome.parameters)
