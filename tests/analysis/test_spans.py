"""From lines of source to PTX and machine code and back, on code that real compilers made."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_reports import KNOWN, known_code, known_profile, needs_reader
from tiers import cases

from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.sass import Sass, read_sass
from kernelwright.analysis.spans import (
    OPTIMISED_AWAY,
    KernelCode,
    SourceLine,
    code_of_span,
    instruction_at,
    join,
    lines_of_offset,
    lines_of_ptx,
    source_lines,
)
from kernelwright.analysis.spans.places import describe
from kernelwright.analysis.spans.profile import counts_at, counts_by_line, line_profile, other_build
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.errors import SpecError, ToolchainMissing
from kernelwright.runners.languages import KernelType
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_file
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import Module
from kernelwright.runners.profiling.model import Instruction, KernelProfile, LaunchShape
from kernelwright.runners.profiling.wanted import SAMPLES, STALL
from kernelwright.runners.specs.devices import device_for
from kernelwright.runners.toolchains import BuildRequest, Shape, toolchain_for

EXAMPLES = Path(__file__).parents[2] / "examples"
NVCC = shutil.which("nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH")

HEADER = """__device__ inline float scaled(float v, float by) {
  return v * by + 1.0f;
}
"""
SOURCE = """#include "h.cuh"
extern "C" __global__ void other(float* x) { x[0] = 1.0f; }

// what it does
extern "C" __global__ void one(float* x, float by, int n) {
  __shared__ float tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float unused = by * 3.0f;
  if (i >= n) return;
  tile[threadIdx.x] =
      scaled(x[i], by);
  __syncthreads();
#ifdef NEVER
  x[0] = 0;
#endif
  x[i] = tile[63 - threadIdx.x];
}
void host() {
  int i = 3;
}
"""
LINES = SOURCE.splitlines()


def line_of(text: str) -> int:
    (found,) = (number for number, line in enumerate(LINES, 1) if text in line)
    return found


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> KernelCode:
    folder = tmp_path_factory.mktemp("spans")
    return compiled(folder, {"h.cuh": HEADER, "k.cu": SOURCE}, "one")


def compiled(folder: Path, files: dict[str, str], kernel: str) -> KernelCode:
    """A kernel of `k.cu`; without a listing: what is tested here needs no names."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    for step in (["-ptx", "k.cu", "-o", "k.ptx"], ["-cubin", "k.ptx", "-o", "k.cubin"]):
        command = [str(NVCC), "-arch=sm_90a", "-lineinfo", *step]
        subprocess.run(command, cwd=folder, check=True, timeout=120, capture_output=True)
    ptx = read_ptx((folder / "k.ptx").read_text(encoding="utf-8"))
    return join(kernel, ptx, read_sass((folder / "k.cubin").read_bytes()))


def why(code: KernelCode, text: str) -> str:
    number = line_of(text)
    (line,) = code_of_span(code, "k.cu", number, number, source_lines(SOURCE, "cuda")).lines
    assert bool(line.sass) == (line.why_none == "")
    return line.why_none


@needs_nvcc
def test_a_line_has_its_ptx_and_its_machine_code(one: KernelCode) -> None:
    barrier = line_of("__syncthreads")
    found = code_of_span(one, "k.cu", barrier, barrier, source_lines(SOURCE, "cuda"))
    assert [each.opcode.partition(".")[0] for each in found.ptx] in (["bar"], ["barrier"])
    assert len(found.sass) == 1 and found.lines[0].inlined_sass == 0


@needs_nvcc
def test_a_call_that_was_inlined_counts_for_its_line_and_for_that_of_the_caller(
    one: KernelCode,
) -> None:
    call, inner = line_of("scaled(x[i], by)"), 2
    outside = code_of_span(one, "k.cu", call, call, source_lines(SOURCE, "cuda")).lines[0]
    inside = code_of_span(one, "h.cuh", inner, inner, source_lines(HEADER, "cuda")).lines[0]
    assert inside.sass and set(inside.sass) <= set(outside.sass)
    assert inside.inlined_sass == 0 and outside.inlined_sass == len(inside.sass)
    assert outside.inlined_ptx == len(inside.ptx) > 0
    assert {describe(each.place) for each in inside.sass} == {f"h.cuh:2 in k.cu:{call}"}


@needs_nvcc
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("float unused", OPTIMISED_AWAY),
        ("x[0] = 0;", OPTIMISED_AWAY),
        ("// what it does", "no code: a comment"),
        ("__shared__", "no code: declares, computes nothing"),
        ("#ifdef", "no code: for the preprocessor"),
        ("void host", "no code: outside the functions that run on the device"),
        ("void other", "no code of this kernel: nothing of `other` is in it"),
        ("tile[threadIdx.x] =", ""),
    ],
)
def test_a_line_without_machine_code_says_why(one: KernelCode, text: str, reason: str) -> None:
    assert why(one, text) == reason


@needs_nvcc
def test_an_instruction_of_either_kind_leads_back_to_its_lines(one: KernelCode) -> None:
    store = line_of("x[i] = tile")
    found = code_of_span(one, "k.cu", store, store, source_lines(SOURCE, "cuda"))
    assert all(lines_of_offset(one, "k.cu", each.offset) == (store,) for each in found.sass)
    assert all(lines_of_ptx(one, "k.cu", each.line) == (store,) for each in found.ptx)
    assert lines_of_ptx(one, "k.cu", 1) == ()


@needs_nvcc
def test_what_is_asked_for_and_not_there_is_refused_with_what_is(one: KernelCode) -> None:
    with pytest.raises(SpecError, match="multiples of 16 up to"):
        instruction_at(one, 8)
    with pytest.raises(SpecError, match=f"start <= end <= {len(LINES)}"):
        code_of_span(one, "k.cu", 3, len(LINES) + 1, source_lines(SOURCE, "cuda"))
    empty = read_ptx(".version 8.0\n.target sm_90\n.address_size 64\n")
    with pytest.raises(SpecError, match="no kernel `two`"):
        join("two", empty, Sass({"one": one.sass}, ()))


@needs_nvcc
def test_calls_of_one_function_in_a_row_are_told_apart(tmp_path: Path) -> None:
    calls = [
        f"  v{n % 16} = v{(n + 1) % 16} * x[{n}] + f(v{(n + 3) % 16}, {n}.5f);" for n in range(64)
    ]
    source = "\n".join(
        [
            "__device__ inline float f(float a, float b) { return a * b + b; }",
            'extern "C" __global__ void k(float* x, float* y) {',
            "".join(f"float v{n} = y[{n}];" for n in range(16)),
            *calls,
            "".join(f"y[{n}] = v{n};" for n in range(16)),
            "}\n",
        ]
    )
    code = compiled(tmp_path, {"k.cu": source}, "k")
    lines = code_of_span(code, "k.cu", 4, 67, source_lines(source, "cuda")).lines
    for line in lines:
        called = [each for each in line.ptx if len(each.place) == 2]
        made = {each for above in called for each in code.assembled[above.line]}
        assert called and made <= set(line.sass)


def known(name: str) -> tuple[KernelProfile, KernelCode]:
    """The one launch of a real report, and the code that the driver was given for it."""
    ptx, cubin = known_code(name)
    module = read_ptx(ptx)
    (launch,) = known_profile(name).launches
    return launch, join(module.entries[0].name, module, read_sass(cubin))


@needs_reader
@pytest.mark.parametrize("name", KNOWN)
def test_a_report_and_the_code_that_it_counted_are_of_one_build(name: str) -> None:
    assert other_build(*known(name)) == ""


@needs_reader
def test_calls_of_one_function_in_turns_have_the_line_of_the_ptx_and_belong_to_the_report() -> None:
    """ptxas writes one row for both calls, and a report names the line of the second one."""
    launch, code = known("hgemm_wgmma")
    (counted,) = (each for each in launch.instructions if each.offset == 0x1650)
    ours = code.by_offset[0x1650]
    assert [frame.line for frame in ours.place] == [13, 127] and counted.line == 129
    elsewhere = counted.model_copy(update={"line": 131})
    moved = launch.model_copy(update={"instructions": (elsewhere,)})
    assert other_build(moved, code).startswith("1 of its 1 instructions")


@needs_nvcc
def test_a_profile_is_summed_by_line_with_what_was_inlined_there(one: KernelCode) -> None:
    counted = tuple(
        Instruction(
            offset=each.offset,
            counters={SAMPLES: 2.0, STALL + "wait": 1.0, STALL + "selected": 1.0},
        )
        for each in one.sass
    )
    far = Instruction(function=1, offset=0, counters={SAMPLES: 100.0})
    shape = LaunchShape(grid=(1, 1, 1), block=(64, 1, 1))
    launch = KernelProfile(
        kernel="one", name="one", shape=shape, metrics={}, instructions=(*counted, far)
    )
    profile = line_profile(launch)
    assert profile.elsewhere == 1
    lines = source_lines(SOURCE, "cuda")
    for number, counts in counts_by_line(profile, one, "k.cu").items():
        (line,) = code_of_span(one, "k.cu", number, number, lines).lines
        assert counts.samples == 2 * len(line.sass)
        assert counts.stalls == (("wait", float(len(line.sass))),)
        assert counts.bank_conflicts is None and counts.sectors is None
    assert counts_at(profile, (each.offset for each in one.sass)).samples == 2 * len(one.sass)


TRITON = '''"""What it is."""
import triton
@triton.jit
def inner(x):
    """What it does."""
    return x + 1  # a comment
@triton.autotune(configs=[],
                 key=[])
@triton.jit
def kernel(x,
           BLOCK):
    # a comment

    y = inner(
        x,
    )
def host():
    return 3
'''


def test_lines_of_a_triton_file_are_told_apart() -> None:
    found = source_lines(TRITON, "triton")
    kinds = [line.kind for line in found]
    assert kinds[:9] == [
        "outside",
        "outside",
        "outside",
        "declaration",
        "comment",
        "code",
        "outside",
        "outside",
        "outside",
    ]
    assert kinds[9:] == [
        "declaration",
        "declaration",
        "comment",
        "blank",
        "code",
        "code",
        "punctuation",
        "outside",
        "outside",
    ]
    assert found[13].statement == found[15].statement == range(14, 17)
    assert (found[5].function, found[13].function, found[17].function) == ("inner", "kernel", "")


@pytest.mark.parametrize("kind", ["cuda", "triton"])
def test_only_a_line_break_ends_a_line(kind: KernelType) -> None:
    text = "#\x0c one\r\n\r\n# two \u2028 still two\r\n"
    assert [line.kind for line in source_lines(text, kind)][1] == "blank"
    assert len(source_lines(text, kind)) == 3 and source_lines("", kind) == ()


def test_a_text_that_is_no_python_is_code_throughout() -> None:
    assert source_lines("def (\n\n", "triton") == (SourceLine("code"), SourceLine("blank"))


def specs() -> dict[str, Path]:
    found = {p: json.loads(p.read_text(encoding="utf-8")) for p in EXAMPLES.glob("*/*.json")}
    return {d["name"]: p for p, d in sorted(found.items()) if d["kernel"]["kernel_type"] != "cpp"}


def codes_of(
    builder: Builder, loaded: LoadedKernel, compiler: str | None = None
) -> Iterator[KernelCode]:
    """Every kernel of every module of the baseline, or a skip that says which tool is not here."""
    try:
        toolchain_for(loaded.spec.kernel.kernel_type)
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    outcome = builder.build(
        BuildRequest(
            kernel=loaded,
            variant=loaded.baseline().model_copy(
                update={"options": BuildOptions(compiler=compiler)}
            ),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in loaded.spec.workloads),
            device=device_for(loaded.spec.device_profile, ()),
        )
    )
    assert outcome.artifact is not None, outcome.message

    def content(module: Module) -> bytes:
        return builder.module_path(module).read_bytes()

    texts = {m.of: content(m).decode() for m in outcome.artifact.modules if m.kind == "ptx"}
    for module in outcome.artifact.modules:
        if module.kind == "cubin":
            ptx, sass = read_ptx(texts[module.sha256]), read_sass(content(module))
            yield from (join(entry, ptx, sass) for entry in sass.kernels)


def round_trip(code: KernelCode, source: str, name: str, kind: KernelType) -> Counter[str]:
    """How the lines of a source fare: span, PTX, the machine code assembled from that, back."""
    fares = Counter[str]()
    lines = source_lines(source, kind)
    for line in code_of_span(code, name, 1, len(lines), lines).lines:
        made = [each for above in line.ptx for each in code.assembled.get(above.line, ())]
        if made or line.sass:
            back = {n for each in made for n in lines_of_offset(code, name, each.offset)}
            ptx_back = all(line.line in lines_of_ptx(code, name, each.line) for each in line.ptx)
            fares["back" if line.line in back and ptx_back else "lost"] += 1
        else:
            assert line.why_none == OPTIMISED_AWAY or not line.ptx
            fares[line.why_none] += 1
    return fares


@cases(
    ("name", "compiler"),
    [*((name, None) for name in specs()), ("cuda_sum", "nvcc")],
    kinds=lambda name, compiler: [compiler or name.partition("_")[0]],
    why="further examples of a language",
)
def test_lines_of_an_example_come_back_from_its_code_or_say_why(
    builder: Builder, name: str, compiler: str | None
) -> None:
    path = specs()[name]
    loaded = load_file(path, Roots([path.parent]))
    fares = Counter[str]()
    for code in codes_of(builder, loaded, compiler):
        kind = loaded.spec.kernel.kernel_type
        fares += round_trip(code, loaded.source, loaded.source_name, kind)
    share = fares["back"] / (fares["back"] + fares["lost"])
    print(f"{name}: {share:.1%} of {fares['back'] + fares['lost']} lines with code come back")
    assert share >= 0.95


def test_code_that_triton_inlined_leads_to_the_line_of_the_user(builder: Builder) -> None:
    path = specs()["triton_reduction"]
    loaded = load_file(path, Roots([path.parent]))
    codes = [code for code in codes_of(builder, loaded) if code.entry == "sum_blocks"]
    calls = loaded.source.splitlines()
    total = next(n for n, line in enumerate(calls, 1) if "tl.sum" in line)
    lines = source_lines(loaded.source, "triton")
    for code in codes:
        (line,) = code_of_span(code, loaded.source_name, total, total, lines).lines
        assert line.inlined_sass and line.inlined_sass < len(line.sass)
        assert any(describe(i.place).startswith("standard.py") for i in line.sass)
