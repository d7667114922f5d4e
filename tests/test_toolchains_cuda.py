"""CUDA sources become cubins and plans without a GPU, by NVRTC and by nvcc alike."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.builder import Builder
from kernelwright.runners.devices import PROFILES, DeviceFacts
from kernelwright.runners.machine_code.cubin import read_cubin
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import Artifact, SetSymbol, module_name
from kernelwright.runners.specs.files import Roots, load_data
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape
from kernelwright.runners.toolchains import nvcc as nvcc_compiler
from kernelwright.runners.toolchains import nvrtc as nvrtc_compiler
from kernelwright.runners.toolchains.cuda import Cuda
from kernelwright.runners.toolchains.cuda_job import no_header
from kernelwright.runners.toolchains.cuda_request import present

HERE = present()
MISSING = {
    "nvrtc": "no cuda.bindings with a libnvrtc here",
    "nvcc": "no nvcc with a g++ here",
}
nvrtc = pytest.mark.skipif("nvrtc" not in HERE, reason=MISSING["nvrtc"])
nvcc = pytest.mark.skipif("nvcc" not in HERE, reason=MISSING["nvcc"])
both = [pytest.param("nvrtc", marks=nvrtc), pytest.param("nvcc", marks=nvcc)]
pytestmark = pytest.mark.skipif(not HERE, reason="no CUDA compiler here")

SOURCE = """
#include <cuda_fp16.h>

__constant__ float weights[4];
namespace ns { __device__ int calls; }

template <class T, int B>
__global__ void reduce(const T* x, T* part, int n) {
  __shared__ T s[B];
  int i = blockIdx.x * B + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] * (T)weights[i & 3] : T(0);
  __syncthreads();
  for (int h = B / 2; h; h /= 2) {
    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (!threadIdx.x) part[blockIdx.x] = s[0];
}

namespace ns {
__global__ void last(const float* part, float* y, int m) {
  float t = 0;
  for (int i = threadIdx.x; i < m; i += STEP) t += part[i];
  atomicAdd(y, t);
  calls = m;
}
}
"""
PLAN: dict[str, Any] = {
    "buffers": {"part": {"dtype": "float32", "shape": ["cdiv(n, 256)"]}},
    "setup": [
        {"set": "weights", "value": [1, 1, 1, 1], "dtype": "float32"},
        {"set": "ns::calls", "in": "ns::last", "value": 0},
    ],
    "steps": [
        {"fill": "y"},
        {
            "launch": "reduce<float, block_x>",
            "grid": "cdiv(n, block_x)",
            "block": 256,
            "args": ["x", "part", "n"],
        },
        {
            "launch": "ns::last",
            "grid": 1,
            "block": ["STEP"],
            "args": ["part", "y", {"value": "cdiv(n, 256)"}],
        },
    ],
}
SHAPES = {"w": 100_000, "odd": 77}
H100 = PROFILES[0][0]
Build = Callable[..., BuildOutcome]


def data(math: str, **kernel: Any) -> dict[str, Any]:
    return {
        "name": "total",
        "kernel": {"kernel_type": "cuda", "source_code": SOURCE, "plan": PLAN}
        | {"metadata": {"kernel_name": "reduce"}}
        | kernel,
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": [1]},
            ],
            "math": math,
        },
        "symbols": {"n": None},
        "workloads": [{"name": "w", "symbols": {"n": SHAPES["w"]}}],
        "parameters": {"STEP": {"values": [32, 64]}},
        "reference": "baseline",
    }


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


def with_compiler(name: str, *flags: str) -> BuildOptions:
    return BuildOptions(compiler=name, flags=flags or None)


def artifact_of(outcome: BuildOutcome) -> Artifact:
    assert outcome.artifact is not None, outcome.message
    return outcome.artifact


def content(artifact: Artifact, kind: str, folder: Path) -> bytes:
    module = next(m for m in artifact.modules if m.kind == kind)
    return (folder / "modules" / module_name(module)).read_bytes()


def refused(outcome: BuildOutcome) -> str:
    assert outcome.artifact is None and outcome.rejected
    return outcome.message


def failed(outcome: BuildOutcome) -> str:
    assert outcome.artifact is None and not outcome.rejected
    return outcome.message


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


@pytest.mark.parametrize("compiler", both)
def test_an_error_is_shown_with_its_line_and_source(build: Build, compiler: str) -> None:
    source = SOURCE.replace("T(0)", "T(nothing)")
    message = failed(build(source, options=with_compiler(compiler)))
    line = 1 + source[: source.index("nothing")].count("\n")
    assert message.startswith(f'total.cu({line}): error: identifier "nothing" is undefined')
    code, caret = message.splitlines()[1:3]
    assert code[caret.index("^") :].startswith("nothing")


@pytest.mark.parametrize("compiler", both)
def test_a_caret_points_at_its_word_in_a_line_of_a_kernel(build: Build, compiler: str) -> None:
    source = SOURCE + "__global__ void other(int* x) { *x = unknown; }\n"
    code, caret = failed(build(source, options=with_compiler(compiler))).splitlines()[1:3]
    assert code.strip().startswith("__global__ void other")
    assert code[caret.index("^") :].startswith("unknown")


@pytest.mark.parametrize("compiler", both)
def test_a_missing_header_is_told_with_what_to_do(build: Build, compiler: str) -> None:
    message = failed(build("#include <absent.h>\n" + SOURCE, options=with_compiler(compiler)))
    assert "`absent.h` was not found" in message and "kernel.include_dirs" in message


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("mine/tiles.h", "kernel.include_dirs"),
        ("cub/cub.cuh", "CUDA_HOME"),
        ("cuda_fp16.h", "CUDA_HOME"),
        ("vector", "install nvcc and g++"),
    ],
)
def test_a_missing_header_comes_with_where_it_is_from(name: str, advice: str) -> None:
    said = no_header(name)
    assert said.startswith(f"`{name}` was not found: ") and advice in said


@pytest.mark.parametrize("compiler", both)
def test_an_error_of_the_assembler_is_told_alone(build: Build, compiler: str) -> None:
    large = "__shared__ T s[B], t[65536]; t[threadIdx.x] = 0;"
    source = SOURCE.replace("__shared__ T s[B];", large).replace("= s[0]", "= t[n]")
    message = failed(build(source, options=with_compiler(compiler)))
    assert "uses too much shared data" in message
    assert len(message.splitlines()) == 1 and "\0" not in message


def test_headers_of_include_folders_and_of_the_spec_are_found(build: Build, folder: Path) -> None:
    (folder / "headers").mkdir(exist_ok=True)
    (folder / "headers" / "one.h").write_text("#define ONE 1.0f\n", encoding="utf-8")
    (folder / "zero.h").write_text("#define ZERO 0.0f\n", encoding="utf-8")
    source = '#include "one.h"\n#include "zero.h"\n' + SOURCE.replace(
        "t = 0", "t = ONE - ONE + ZERO"
    )
    artifact_of(build(source, include_dirs=["headers"], files=["zero.h"]))


@pytest.mark.parametrize("compiler", both)
@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("weights", "other", "weights"),
        ("int B>", "int B, int C>", "reduce<float, 256>"),
    ],
)
def test_a_name_of_the_plan_that_the_source_lacks_is_told(
    build: Build, compiler: str, old: str, new: str, name: str
) -> None:
    source = SOURCE.replace(old, new)
    message = failed(build(source, options=with_compiler(compiler)))
    assert f"total.cu has nothing for the plan's `{name}`" in message


@pytest.mark.parametrize("compiler", both)
def test_inline_ptx_that_the_assembler_refuses_is_told(build: Build, compiler: str) -> None:
    source = SOURCE.replace("float t = 0;", 'float t = 0; asm volatile("foo.bar;");')
    message = failed(build(source, options=with_compiler(compiler)))
    assert "Not a name of any known instruction: 'foo'" in message


@pytest.mark.parametrize("compiler", both)
def test_an_architecture_that_the_compiler_does_not_know_is_told(
    build: Build, compiler: str
) -> None:
    old = H100.model_copy(update={"arch": "sm_52"})
    message = failed(build(device=old, options=with_compiler(compiler)))
    assert "does not build for sm_52" in message


def launching(**changes: Any) -> dict[str, Any]:
    fill, reduce, last = PLAN["steps"]
    return PLAN | {"steps": [fill, reduce, last | changes]}


def sized(block: int) -> dict[str, Any]:
    fill, reduce, last = PLAN["steps"]
    return PLAN | {"steps": [fill, reduce | {"block": block}, last]}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"plan": launching(args=["part", "y"])}, "step 2: 2 parameters for `_ZN2ns4lastEPKfPfi`"),
    (
        {"plan": launching(args=["part", "y", {"value": 1, "dtype": "int64"}])},
        "step 2: parameter `args[2]` has 8 bytes\nValid: 4",
    ),
    ({"plan": launching(shared=1 << 20)}, "1048576 bytes of shared memory a block"),
    ({"plan": launching(launch="ns::lost")}, "the plan launches `ns::lost`: total.cu has none"),
    ({"plan": launching(grid="cdiv(m, 2)")}, "grid.x: `m` is not a known name"),
    ({"plan": {"steps": [{"launch": "reduce"}]}}, "steps.0.block: required, and missing"),
    ({"parameters": {"reduce_block_x": 100}}, "reduce_block_x=100\nValid: 32, 64, 128"),
    ({"parameters": {"STEPS": 32}}, "`STEPS` is not a parameter\nValid: did you mean `STEP`?"),
    ({"device": None}, "no GPU is named to build for"),
    ({"options": with_compiler("clang")}, "compiler `clang` is not here"),
    ({"options": BuildOptions(flags=("-arch=sm_80",))}, "flag `-arch=sm_80`: the device"),
    ({"options": BuildOptions(flags=("-rdc=true",))}, "flag `-rdc=true`"),
    ({"options": BuildOptions(flags=("--use_fast_math",))}, "the contract's math is `ieee`"),
    ({"options": BuildOptions(flags=("-ftz", "true"))}, "flag `ftz true` changes results"),
]


@pytest.mark.parametrize(("request_", "words"), REFUSED)
def test_what_is_not_legal_is_refused_with_what_is(
    build: Build, request_: dict[str, Any], words: str
) -> None:
    assert words in refused(build(**request_))


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
