"""What a CUDA source is told that does not build: errors, headers, names, flags, plans."""

from __future__ import annotations

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
    with_compiler,
)

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape
from kernelwright.runners.toolchains.compilers.cuda_job import no_header

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


def refused(outcome: BuildOutcome) -> str:
    assert outcome.artifact is None and outcome.rejected
    return outcome.message


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
    assert "does not build for sm_52 (known: sm_" in message and "sm_90" in message


def launching(**changes: Any) -> dict[str, Any]:
    fill, reduce, last = PLAN["steps"]
    return PLAN | {"steps": [fill, reduce, last | changes]}


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
