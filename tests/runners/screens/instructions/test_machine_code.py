"""The screen of machine code: instruction words, symbols and PTX, from real builds.

`golden/sass_words.json`: [arch, what nvdisasm 12.8 prints, low word, high word, what is found],
from kernels that ptxas 13.0 assembled.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.cubin_hash import entry_hash
from kernelwright.runners.plans.plan import Artifact
from kernelwright.runners.screens.instructions.launch_constants import (
    ADDRESS,
    INDEXED,
    TENSOR_MAP,
    honest_beside,
)
from kernelwright.runners.screens.instructions.machine_code import (
    MachineCode,
    findings,
    machine_code_screen,
    screen_artifact,
)
from kernelwright.runners.screens.instructions.sass import DECODE
from kernelwright.runners.screens.ptx import PTX, asm_findings, ptx_findings
from kernelwright.runners.screens.source import wants_probes
from kernelwright.runners.specs.io_contract import Contract

WORDS: list[list[Any]] = json.loads(
    (Path(__file__).parents[3] / "golden" / "sass_words.json").read_text(encoding="utf-8")
)
nvcc = pytest.mark.skipif(
    not (shutil.which("nvcc") and shutil.which("g++")), reason="no nvcc with a g++ here"
)
SOURCE = """\
#include <cstdio>
#include <mma.h>

__device__ float cache[16];
__device__ const float table[2] = {1, 2};

extern "C" __global__ void plain(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) + sqrtf(x[i]) / x[i];
  if (n != n) printf("dead");
}

extern "C" __global__ void hidden(const float* x, float* y, int n) {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t));
  y[0] = t + table[n] + cache[n]++;
}

extern "C" __global__ void dated(const float* x, float* y, int n) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  y[n] = now > 1893456000000000000ull ? 0 : x[n];
}

extern "C" __global__ void prints(const float* x, float* y, int n) {
  printf("%f", x[0]);
  float* more = (float*)malloc(4 * n);
  more[n] = 1;
  atomicAdd(y, more[0]);
}

extern "C" __global__ void product(const unsigned* a, float* c, int n) {
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]));
  c[0] = d[0];
}
"""
TRITON_PTX = """\
.visible .entry odd(
\t.param .u64 .ptr .global .align 1 odd_param_0
)
{
$L__func_begin0:
\t.loc\t1 13 0                          // tk.py:13:0
\t// begin inline asm
\tmov.u64 %rd1, %globaltimer;
\t// end inline asm
$L__tmp1:
\t.loc\t2 291 36                         // standard.py:291:36 @[ tk.py:18:30 ]
\tadd.f32 %r1, %r2, %r3;
\t@%p1 atom.global.gpu.acq_rel.add.f32 %r9, [ %rd6 + 0 ], %r10;
\t.loc\t1 19 45                         // tk.py:19:45
\tcvt.rn.f16.f32 %rs1, %r4;
\tret;
}
\t.file\t1 "/somewhere/tk.py"
\t.file\t2 "/elsewhere/standard.py"
\t.section\t.debug_abbrev
\t{ .b8 99 // %clock64
"""
"""lines of what Triton 3.6 made for sm_90a"""


def contract(**changes: Any) -> Contract:
    arguments = [
        {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
    ]
    return Contract.model_validate({"arguments": arguments} | changes)


@pytest.mark.parametrize(
    ("arch", "text", "low", "high", "name"), WORDS, ids=[f"{w[0]} {w[1]}" for w in WORDS]
)
def test_an_instruction_is_recognised_by_its_words_and_no_other_is_taken_for_it(
    arch: str, text: str, low: str, high: str, name: str | None
) -> None:
    words = int(low, 16), int(high, 16)
    decode = DECODE.get(words[0] & 0x1FF)
    capability = int("".join(c for c in arch if c.isdigit()))
    sign = None if decode is None else decode(*words, capability)
    assert (None if sign is None else sign.name) == name, text


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, str]:
    """A cubin for sm_90a and its PTX."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "k.cu").write_text(SOURCE, encoding="utf-8")
    common = ["nvcc", "-arch=sm_90a", "-lineinfo", "-std=c++17"]
    first = [*common, "-ptx", "k.cu", "-o", "k.ptx"]
    second = [*common, "-cubin", "k.ptx", "-o", "k.cubin"]
    for command in (first, second):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return (folder / "k.cubin").read_bytes(), (folder / "k.ptx").read_text(encoding="utf-8")


def told(built: tuple[bytes, str], kernel: str, ptx: bool = True, **changes: Any) -> set[str]:
    code = MachineCode(built[0], frozenset({kernel}), built[1] if ptx else "")
    found = findings(code, contract(**changes), "k.cu")
    return {f"{f.tier} {f.name} {f.line}" for f in found}


COMMENTED_PTX = """\
.visible .entry odd(
\t.param .u64 odd_param_0
)
{
\t/* %pm0
.entry other(
\t.section .debug_str
\t*/
\t.pragma "/*";
\tmov.u64 %rd1, %gridid; // %current_graph_exec
\tret;
}
"""


def test_a_comment_of_a_listing_hides_nothing_and_asks_nothing() -> None:
    found = ptx_findings(COMMENTED_PTX, {"odd"}, None)
    assert [(each.tier, each.name) for each in found] == [("block", "%gridid")]


def test_only_structures_are_indexed_and_only_tensor_maps_are_found_in_memory() -> None:
    assert honest_beside({4, 8}) == set()
    assert honest_beside({8, TENSOR_MAP}) == {ADDRESS}
    assert honest_beside({8, 40}) == {ADDRESS, INDEXED}


@pytest.mark.parametrize(
    "text",
    [
        ".global .align 4 .u32 calls;",
        ".global/* of it */.align 4 .u32 calls = 1;",
        ".global .attribute(.unified(19, 95)) .align 4 .u32 calls;",
    ],
)
def test_a_variable_of_inline_ptx_is_seen_however_it_is_declared(text: str) -> None:
    assert [(f.tier, f.name) for f in asm_findings(text, 1, None)] == [("probe", "calls")]


ALWAYS = {
    "probe cache 0", "note table 0", "probe malloc 0", "probe vprintf 0",
}  # fmt: skip
"""of the whole module: variables, functions of the driver"""


@nvcc
def test_what_only_the_machine_code_shows_is_found_with_the_line_of_the_source(
    built: tuple[bytes, str],
) -> None:
    assert told(built, "hidden") == ALWAYS | {"probe SR_CLOCKLO 0", "probe %clock64 15"}
    assert told(built, "hidden", ptx=False) == ALWAYS | {"probe SR_CLOCKLO 0"}


@nvcc
def test_dead_code_and_kernels_that_are_not_launched_say_nothing(
    built: tuple[bytes, str],
) -> None:
    assert told(built, "plain") == ALWAYS


@nvcc
def test_a_product_in_tf32_counts_where_the_contract_is_ieee(built: tuple[bytes, str]) -> None:
    found = told(built, "product")
    assert "probe HMMA.TF32 0" in found
    assert any("probe mma.sync.aligned.m16n8k8.row.col.f32.tf32" in each for each in found)
    assert told(built, "product", math="tf32") == ALWAYS


@nvcc
def test_float_atomics_are_noted_where_the_contract_is_deterministic(
    built: tuple[bytes, str],
) -> None:
    assert any("note REDG.ADD.F" in each for each in told(built, "prints"))
    assert told(built, "prints", deterministic=False) == ALWAYS


@nvcc
def test_the_time_of_day_is_blocked_where_the_contract_does_not_allow_it(
    built: tuple[bytes, str],
) -> None:
    code = MachineCode(built[0], frozenset({"dated"}), built[1])
    refused = machine_code_screen([code], contract(), "k.cu")
    assert refused.outcome == "failed" and "`globaltimer` reads the time of day" in refused.message
    assert "`allow`" in refused.message
    leave = {"name": "globaltimer", "reason": "it stamps each of its results"}
    allowed = machine_code_screen([code], contract(allow=[leave]), "k.cu")
    assert allowed.outcome == "note" and wants_probes([allowed])
    assert "it stamps each of its results" in str(allowed.evidence)


@nvcc
def test_the_gate_asks_for_probes_where_nothing_is_blocked(built: tuple[bytes, str]) -> None:
    code = MachineCode(built[0], frozenset({"hidden"}), built[1])
    gate = machine_code_screen([code], contract(), "k.cu")
    assert (gate.gate, gate.outcome) == ("machine_code_screen", "note")
    assert wants_probes([gate])
    clock = next(f for f in gate.evidence["findings"] if f["name"] == "%clock64")
    assert (clock["tier"], clock["line"], clock["place"]) == ("probe", 15, "kernel `hidden`")


def test_lines_of_triton_are_the_callers_own() -> None:
    found = ptx_findings(TRITON_PTX, {"odd"}, contract(), "tk.py")
    assert [(f.tier, f.name, f.line) for f in found] == [
        ("probe", "%globaltimer", 13),
        ("note", "atom.global.gpu.acq_rel.add.f32", 18),
        ("probe", "cvt.rn.f16.f32", 19),
    ]
    assert ptx_findings(TRITON_PTX, {"another"}, contract(), "tk.py") == []


@nvcc
def test_a_variable_that_begins_as_zeros_is_probed_under_any_name(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        'extern "C" __global__ void k(int* y) {\n'
        '  asm volatile(".global .align 4 .u32 assert_count;");\n'
        '  asm volatile("red.global.add.u32 [assert_count], 1;" ::: "memory");\n}\n',
        encoding="utf-8",
    )
    command = ["nvcc", "-arch=sm_90a", "-cubin", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)
    code = MachineCode((tmp_path / "k.cubin").read_bytes(), frozenset({"k"}))
    (found,) = [f for f in findings(code, contract()) if "assert_count" in f.name]
    assert found.tier == "probe"


def test_code_for_the_host_is_skipped_and_a_damaged_cubin_refused(tmp_path: Path) -> None:
    nothing = Artifact(
        variant_id="v", toolchain="t", target="x", modules=(), plans={}, code_hash=""
    )
    assert screen_artifact(nothing, lambda m: tmp_path / m.sha256).outcome == "skipped"
    with pytest.raises(SpecError, match="no cubin"):
        machine_code_screen([MachineCode(b"nothing", frozenset())])


SAID = {
    "mov.u64 %rd1, %clock64;": "probe",
    "mov.u32 %r1, %globaltimer_lo;": "probe",
    "mov.u64 %rd1, %gridid;": "block",
    "mov.u64 %rd1, %current_graph_exec;": "block",
    "mov.u32 %r1, %envreg3;": "block",
    "mov.u32 %r1, %envreg12;": "block",
    "mov.u32 %r1, %envreg1;": "probe",
    "mov.u32 %r1, %envreg2;": "probe",
    "mov.u32 %r1, %pm0;": "block",
    "mov.u32 %r1, %pm3;": "block",
    "mov.u32 %r1, %nsmid;": "probe",
    "mov.u32 %r1, %warpid;": "probe",
    "discard.global.L2 [%rd1], 128;": "probe",
    "@%p1 trap;": "note",
    "nanosleep.u32 100;": "note",
    "createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;": "note",
    "ld.global.L1::evict_last.b32 %r1, [%rd1];": "note",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1}, {%r2}, {%r3}, {%r4};": "probe",
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r1}, {%r2}, {%r3}, {%r4};": "probe",
    "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%r1}, %rd1, %rd2, 1, 1, 1;": "probe",
    "tcgen05.mma.cta_group::1.kind::tf32 [%r1], %rd1, %rd2, %r2, %p1;": "probe",
    "cvt.rna.tf32.f32 %r1, %f1;": "probe",
    "cvt.rn.bf16x2.f32 %r1, %f1, %f2;": "probe",
    "cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;": "probe",
    "tanh.approx.f32 %f1, %f2;": "probe",
    "red.global.add.f32 [%rd1], %f1;": "note",
    "atom.add.release.gpu.global.f16x2 %r1, [%rd1], %r2;": "note",
    "call (retval0), \n\t%rd5, \n\t(param0), prototype_0;": "note",
    "alloca.u64 %rd1, %rd2, 16;": "note",
}


@pytest.mark.parametrize("statement", SAID)
def test_a_suspicious_instruction_of_ptx_is_found(statement: str) -> None:
    text = f".visible .entry k(\n)\n{{\n\tadd.f32 %f1, %f1, %f2;\n\t{statement}\n}}\n"
    assert [f.tier for f in ptx_findings(text, {"k"}, contract())][:1] == [SAID[statement]]


@pytest.mark.parametrize(
    "statement",
    [
        "cvt.f32.f16 %f1, %rs1;",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1}, {%r2}, {%r3}, {%r4};",
        "atom.global.add.u32 %r1, [%rd1], %r2;",
        "ex2.approx.ftz.f32 %f1, %f2;",
        "call.uni (retval0), helper, (param0);",
        "mov.u32 %r1, %laneid;",
        "div.rn.f32 %f1, %f2, %f3;",
    ],
)
def test_an_ordinary_instruction_of_ptx_says_nothing(statement: str) -> None:
    text = f".visible .entry k(\n)\n{{\n\t{statement}\n}}\n"
    assert ptx_findings(text, {"k"}, contract()) == []


@nvcc
def test_line_tables_change_neither_the_hash_of_code_nor_what_is_found(
    built: tuple[bytes, str], tmp_path: Path
) -> None:
    (tmp_path / "k.cu").write_text(SOURCE, encoding="utf-8")
    command = ["nvcc", "-arch=sm_90a", "-std=c++17", "-cubin", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    without = (tmp_path / "k.cubin").read_bytes()
    assert len(without) < len(built[0])
    assert entry_hash(without, "hidden") == entry_hash(built[0], "hidden")
    assert told((without, ""), "hidden") == told((built[0], ""), "hidden")


def test_every_row_gives_a_reason_and_has_no_groups() -> None:
    assert all(row.reason and "(?P" not in row.pattern for row in PTX)
