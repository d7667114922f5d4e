"""CUDA sources become cubins and plans without a GPU, by NVRTC and by nvcc alike."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cuda_totals import (
    H100,
    HERE,
    PLAN,
    SHAPES,
    SOURCE,
    Build,
    artifact_of,
    both,
    data,
    failed,
    nvcc,
    nvrtc,
    with_compiler,
)

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.machine_code.cubin import read_cubin
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import Artifact, SetSymbol, module_name
from kernelwright.runners.processes.process_table import process_table
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape
from kernelwright.runners.toolchains.compilers import nvcc as nvcc_compiler
from kernelwright.runners.toolchains.compilers import nvrtc as nvrtc_compiler
from kernelwright.runners.toolchains.cuda import Cuda
from kernelwright.runners.toolchains.cuda_request import present

pytestmark = pytest.mark.skipif(not HERE, reason="no CUDA compiler here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cuda")


@pytest.fixture(scope="module")
def build(folder: Path) -> Iterator[Build]:
    builder = Builder(folder / "modules", folder / "scratch")

    def call(
        source: str = SOURCE,
        plan: dict[str, Any] = PLAN,
        *,
        device: DeviceFacts | None = H100,
        options: BuildOptions | None = None,
        parameters: dict[str, int] | None = None,
        math: str = "ieee",
        **kernel: Any,
    ) -> BuildOutcome:
        loaded = load_data(data(math, **kernel), folder, Roots([folder]))
        variant = loaded.baseline().model_copy(
            update={"source": source, "plan": plan, "options": options or BuildOptions()}
        )
        if parameters is not None:
            variant = variant.model_copy(update={"parameters": variant.parameters | parameters})
        return builder.build(
            BuildRequest(
                kernel=loaded,
                variant=variant,
                shapes=tuple(Shape(label=k, symbols={"n": n}) for k, n in SHAPES.items()),
                device=device,
            )
        )

    yield call
    builder.close()


def content(artifact: Artifact, kind: str, folder: Path) -> bytes:
    module = next(m for m in artifact.modules if m.kind == kind)
    return (folder / "modules" / module_name(module)).read_bytes()


def test_where_cuda_bindings_are_missing_there_is_no_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.delitem(sys.modules, "cuda.bindings", raising=False)
    assert nvrtc_compiler.library() is None
    assert "nvrtc" not in present()


@pytest.mark.parametrize("compiler", both)
def test_templates_namespaces_and_variables_get_the_names_of_the_machine_code(
    build: Build, folder: Path, compiler: str
) -> None:
    artifact = artifact_of(build(options=with_compiler(compiler)))
    plan = artifact.plans["w"]
    info = read_cubin(content(artifact, "cubin", folder))
    assert [k.entry for k in plan.kernels] == [
        "_Z6reduceIfLi256EEvPKT_PS0_i",
        "_ZN2ns4lastEPKfPfi",
    ]
    assert set(info.entries) >= {k.entry for k in plan.kernels}
    symbols = [step.symbol for step in plan.setup if isinstance(step, SetSymbol)]
    assert symbols == ["weights", "_ZN2ns5callsE"] and set(symbols) <= set(info.globals)
    assert info.capability == 90 and artifact.target == "sm_90a"


@pytest.mark.parametrize("compiler", both)
def test_every_shape_has_its_plan(build: Build, compiler: str) -> None:
    plans = artifact_of(build(options=with_compiler(compiler))).plans
    first = plans["w"].setup[0]
    assert isinstance(first, SetSymbol) and first.raw == struct.pack("<4f", 1, 1, 1, 1).hex()
    assert {label: plan.launches[0].grid[0] for label, plan in plans.items()} == {
        "w": 391,
        "odd": 1,
    }


@pytest.mark.parametrize("compiler", both)
def test_listings_come_with_the_machine_code_and_name_the_source_by_its_own_name(
    build: Build, folder: Path, compiler: str
) -> None:
    artifact = artifact_of(build(options=with_compiler(compiler)))
    (cubin,) = artifact.loaded
    assert {m.kind for m in artifact.modules} >= {"cubin", "ptx"}
    assert {m.of for m in artifact.modules if m.kind != "cubin"} == {cubin.sha256}
    ptx = content(artifact, "ptx", folder).decode()
    assert '.file\t1 "total.cu"' in ptx and "kernelwright" not in ptx
    assert ".entry _Z6reduceIfLi256EEvPKT_PS0_i" in ptx


@pytest.mark.parametrize("compiler", both)
def test_facts_tell_registers_shared_memory_and_shapes(build: Build, compiler: str) -> None:
    facts = build(options=with_compiler(compiler)).facts
    assert facts is not None and facts.compiler.lower().startswith(compiler)
    reduce, last = facts.kernels
    assert (reduce.static_shared, reduce.threads, reduce.spill_bytes) == (1024, 256, 0)
    assert (last.static_shared, last.threads) == (0, 32)
    assert reduce.shapes == last.shapes == ("w", "odd")
    assert facts.registers == max(reduce.registers or 0, last.registers or 0) > 0
    assert facts.shared_bytes == 1024 and min(reduce.instructions or 0, 20) == 20


@nvrtc
@nvcc
def test_both_compilers_make_code_with_one_hash(build: Build) -> None:
    hashes = {artifact_of(build(options=with_compiler(c))).code_hash for c in HERE}
    assert len(hashes) == 1


def test_another_layout_has_the_same_hash_and_other_code_another(build: Build) -> None:
    before = artifact_of(build()).code_hash
    assert artifact_of(build(SOURCE.replace("\n", "\n\n"))).code_hash == before
    assert artifact_of(build(SOURCE.replace("t += part[i]", "t -= part[i]"))).code_hash != before


def test_parameters_are_macros_and_found_ones_change_the_plan(build: Build) -> None:
    outcome = build(parameters={"STEP": 64, "reduce_block_x": 128})
    kernels = artifact_of(outcome).plans["w"].kernels
    assert [k.block[0] for k in kernels] == [128, 64]
    assert kernels[0].entry == "_Z6reduceIfLi128EEvPKT_PS0_i"
    assert list(outcome.parameters) == ["reduce_block_x"]
    assert outcome.facts is not None and "-DSTEP=64" in outcome.facts.command
    assert "block_x" not in outcome.facts.command


@pytest.mark.parametrize("compiler", both)
def test_what_a_plan_defines_is_a_macro_of_the_source(build: Build, compiler: str) -> None:
    source = SOURCE.replace("B / 2", "B / HALVES")
    built, other = (
        artifact_of(
            build(source, {**PLAN, "defines": {"HALVES": n}}, options=with_compiler(compiler))
        )
        for n in (2, 4)
    )
    assert built.code_hash != other.code_hash
    assert "HALVES" in failed(build(source, options=with_compiler(compiler)))


def test_a_variants_own_block_counts_before_the_one_it_inherited(build: Build) -> None:
    outcome = build(plan=sized(512), parameters={"reduce_block_x": 256})
    assert artifact_of(outcome).plans["w"].kernels[0].block[0] == 512
    tuned = build(plan=sized(512), parameters={"reduce_block_x": 128})
    assert artifact_of(tuned).plans["w"].kernels[0].block[0] == 128


def test_a_found_parameter_that_this_plan_has_no_place_for_is_a_note(build: Build) -> None:
    outcome = build(parameters={"last_block_x": 64})
    assert outcome.facts is not None
    assert outcome.facts.warnings == ("last_block_x=64 means nothing in this plan",)


@nvcc
def test_nvcc_compiles_what_nvrtc_does_not_take(build: Build) -> None:
    facts = build("#include <vector>\n" + SOURCE).facts
    assert facts is not None and facts.compiler.startswith("nvcc")
    if "nvrtc" in HERE:
        (note,) = facts.warnings
        assert note.startswith("nvrtc did not take it") and "vector" in note


@nvcc
def test_a_build_by_nvcc_names_the_compiler_and_every_header(build: Build, folder: Path) -> None:
    dependencies = build(options=with_compiler("nvcc")).dependencies
    names = {Path(path).name for path in dependencies}
    assert {"nvcc", "cuda_fp16.h"} <= names
    assert all(Path(path).is_absolute() for path in dependencies)
    assert not any(path.startswith(str(folder)) for path in dependencies)


@pytest.mark.parametrize("compiler", both)
def test_flags_of_the_optimiser_reach_the_assembler(build: Build, compiler: str) -> None:
    flags = ("-std=c++17", "--maxrregcount=24", "--ptxas-options=-dlcm=cg", "-O3")
    facts = build(options=with_compiler(compiler, *flags)).facts
    assert facts is not None and facts.registers is not None and facts.registers <= 24


def sized(block: int) -> dict[str, Any]:
    fill, reduce, last = PLAN["steps"]
    return PLAN | {"steps": [fill, reduce | {"block": block}, last]}


def test_fast_math_is_built_where_the_contract_allows_it(build: Build) -> None:
    flags = BuildOptions(flags=("--use_fast_math", "-std=c++17"))
    assert artifact_of(build(options=flags, math="fast"))


def test_warnings_of_the_compiler_are_facts(build: Build) -> None:
    facts = build(SOURCE.replace("float t = 0;", "float t = 0; int unused;")).facts
    assert facts is not None
    assert any('variable "unused" was declared' in warning for warning in facts.warnings)


def test_host_code_of_a_source_is_neither_kept_nor_run(build: Build, folder: Path) -> None:
    mark = folder / "mark"
    source = (
        SOURCE
        + f"""
#include <cstdio>
static int made = [] {{ std::fclose(std::fopen("{mark}", "w")); return 1; }}();
"""
    )
    build(source)
    assert not mark.exists()


def test_without_a_compiler_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc_compiler, "executable", lambda: None)
    monkeypatch.setattr(nvrtc_compiler, "library", lambda: None)
    missing = Cuda().missing()
    assert missing is not None and "nvidia-cuda-nvrtc" in missing and "nvcc" in missing


@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_what_nvrtc_writes_into_is_nobody_elses(size: int) -> None:
    first, second = nvrtc_compiler.room(size), nvrtc_compiler.room(size)
    assert len(first) > size and first is not second


@nvrtc
def test_forks_find_nvrtc_loaded_by_a_process_that_keeps_one_thread(build: Build) -> None:
    artifact_of(build())
    mine = (row.pid for row in process_table().values() if row.parent == os.getpid())
    ours = [pid for pid in mine if b"building.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert ours
    for pid in ours:
        assert len(os.listdir(f"/proc/{pid}/task")) == 1
    assert any("libnvrtc" in Path(f"/proc/{pid}/maps").read_text() for pid in ours)


EXTENSION = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cmath>
template <typename scalar_t> __global__ void grown(scalar_t* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fabsf(x[i]) + 1;
}
torch::Tensor grow(torch::Tensor x) {
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "grow", ([&] {
        grown<scalar_t><<<x.numel() / 64, 64>>>(x.data_ptr<scalar_t>(), x.numel()); }));
    return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("grow", &grow); }
"""
GROWN: dict[str, Any] = {
    "steps": [{"launch": "grown<float>", "grid": 4, "block": 64, "args": ["y", "n"]}]
}


def test_an_extension_is_built_of_its_device_code_where_its_headers_are_not_here(
    build: Build,
) -> None:
    found = build(EXTENSION, GROWN)
    assert found.facts is not None, found.message
    (note,) = [n for n in found.facts.warnings if "device code alone" in n]
    assert "`torch/extension.h`" in note and "`ATen/cuda/CUDAContext.h`" in note


@pytest.mark.parametrize(
    "change",
    [("fabsf(x[i])", "mine(x[i])"), ("<cmath>", '"settings_of_mine.h"')],
    ids=["something in it is used", "it may say how the kernel is built"],
)
def test_a_header_that_the_kernel_may_need_is_asked_for(
    build: Build, change: tuple[str, str]
) -> None:
    found = build(EXTENSION.replace(*change), GROWN)
    assert found.artifact is None
    assert "torch/extension.h" in found.message and "kernel.include_dirs" in found.message
