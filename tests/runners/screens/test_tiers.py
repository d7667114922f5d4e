"""Tiers of the static screen: what only looks suspicious is probed or noted, by the contract."""

from __future__ import annotations

from typing import Any

import pytest

from kernelwright.runners.model import GateResult
from kernelwright.runners.screens.source import static_screen, wants_probes
from kernelwright.runners.specs.io_contract import Contract

CUDA = """\
extern "C" __global__ void k(const float* x, float* y, int n) {{
  {}
}}
"""
CPP = 'extern "C" void k(const float* x, float* y, int n) {{\n  {}\n}}\n'
TRITON = """\
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import globaltimer, smid


@triton.jit
def k(x, y, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    {}
"""


def contract(dtype: str = "float32", math: str = "ieee", **more: Any) -> Contract:
    arguments = [
        {"name": "x", "role": "input", "dtype": dtype, "shape": ["n"]},
        {"name": "y", "role": "output", "dtype": dtype, "shape": ["n"]},
    ]
    return Contract.model_validate({"arguments": arguments, "math": math, **more})


def tiers(result: GateResult) -> set[str]:
    return {f["tier"] for f in result.evidence.get("findings", ())}


def screen(kind: str, body: str, under: Contract | None = None) -> GateResult:
    text = {"cuda": CUDA, "cpp": CPP, "triton": TRITON}[kind]
    return static_screen(text.format(body), kind, "k", under or contract())


KEEPS_STATE = [
    ("cuda", "static int calls = 0;", "calls"),
    ("cuda", "static const float* p = x;", "p"),
    ("cpp", "static int calls = 0;", "calls"),
    ("cpp", "thread_local float row[64];", "row"),
    ("cpp", "static const float* p;", "p"),
    ("cpp", "static float* const p = new float[4];", "p"),
    ("cpp", "static const volatile int calls = 0;", "calls"),
    ("cpp", "static std::vector<float> cache(64);", "cache"),
    ("cpp", "for (static int i = 0; i < n; ++i) y[i] = 0;", "i"),
    ("cpp", "}\nfloat cache[64];\nvoid g() {", "cache"),
    ("cpp", "}\nnamespace { int calls = 0; }\nvoid g() {", "calls"),
    ("cpp", "}\nstruct S { inline static int calls = 0; };\nvoid g() {", "calls"),
    ("cuda", "}\n__device__ float cache[64];\nvoid g() {", "cache"),
    ("cuda", "}\nstatic __device__ int calls = 0;\nvoid g() {", "calls"),
]


@pytest.mark.parametrize(("kind", "body", "name"), KEEPS_STATE)
def test_a_variable_that_outlives_a_call_is_probed_by_its_name(
    kind: str, body: str, name: str
) -> None:
    result = screen(kind, body)
    assert result.outcome == "note" and wants_probes([result])
    assert f"`{name}` is kept from one call to the next" in result.message


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("cuda", "static const float T[2] = {1, 2}; y[0] = T[n];"),
        ("cuda", "static constexpr int W = 4; y[0] = W;"),
        ("cuda", "static __shared__ float s[64]; s[n] = 1;"),
        ("cuda", "extern __shared__ float s[]; s[n] = 1;"),
        ("cuda", "}\n__constant__ float c[4];\n__device__ const float d[2] = {1, 2};\nvoid g() {"),
        ("cuda", "}\nstatic float of_the_host = 1;\nvoid g() {"),
        ("cuda", "}\nstatic __device__ float f(float v) { return v; }\nvoid g() {"),
        ("cpp", "static const float T[2] = {1, 2}; y[0] = T[n];"),
        ("cpp", "static constexpr float T[2] = {1, 2}; y[0] = T[n];"),
        ("cpp", 'static const char* const name = "k"; y[0] = name[0];'),
        ("cpp", "}\nstatic inline float f(float v) { return v; }\nvoid g() {"),
        ("cpp", "}\nstatic float f(float v);\nextern int other;\nvoid g() {"),
        ("cpp", "}\nconst int W = 4;\nconstexpr float E = 1e-5f;\nvoid g() {"),
        ("cpp", "float s[64]; y[0] = s[n];"),
        (
            "cpp",
            "}\nstruct S { float v; static constexpr int w = 2; static float f(); };\nvoid g() {",
        ),
    ],
)
def test_constants_functions_and_locals_say_nothing(kind: str, body: str) -> None:
    result = screen(kind, body)
    assert result.outcome == "passed", result.message


CLOCKS = [
    ("cuda", "y[0] = clock64();"),
    ("cuda", 'long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)); y[0] = t;'),
    ("cuda", 'unsigned t; asm("mov.u32 %0, " "%%globaltimer_lo;" : "=r"(t)); y[0] = t;'),
    ("cuda", '}\n#define T(t) asm("mov.u32 %0, %%clock;" : "=r"(t))\nvoid g() {'),
    ("triton", "t = globaltimer()"),
    (
        "triton",
        't = tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], tl.int64, True, 1)',
    ),
]


@pytest.mark.parametrize(("kind", "body"), CLOCKS)
def test_a_clock_in_device_code_is_probed_in_asm_as_well(kind: str, body: str) -> None:
    result = screen(kind, body)
    assert result.outcome == "note" and wants_probes([result]), result
    assert "reads a clock" in result.message


def test_assembly_that_is_read_and_harmless_says_nothing() -> None:
    body = 'asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(n), "l"(x));'
    assert screen("cuda", body).outcome == "passed"
    for kind in ("cuda", "cpp"):
        assert screen(kind, 'asm volatile("" : "+r"(n) : : "memory");').outcome == "passed"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("cuda", "asm volatile(CODE);"),
        ("triton", "t = tl.inline_asm_elementwise(CODE, '=l', [], tl.int64, True, 1)"),
        ("cpp", 'asm volatile(".byte 0x0f, 0x05");'),
    ],
)
def test_assembly_that_cannot_be_read_or_reaches_out_is_probed(kind: str, body: str) -> None:
    assert wants_probes([screen(kind, body)])


def test_looking_at_the_multiprocessor_is_probed_and_printing_noted() -> None:
    assert wants_probes([screen("triton", "s = smid()")])
    assert tiers(screen("triton", 'tl.device_print("x", a)')) == {"note"}
    assert tiers(screen("cuda", 'if (n < 0) printf("%d", n);')) == {"note"}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("cuda", "y[0] = __half2float(__float2half(x[0]));"),
        ("cpp", "y[0] = (_Float16)x[0];"),
        ("triton", "b = a.to(tl.float16)"),
        ("triton", "b = a.to(tl.bfloat16)"),
        ("triton", "b = a.to(tl.float8e4nv)"),
    ],
)
def test_a_narrow_type_is_a_probe_in_floats_and_nothing_in_halves(kind: str, body: str) -> None:
    assert tiers(screen(kind, body, contract("float32"))) == {"probe"}
    assert tiers(screen(kind, body, contract("float32", "fast"))) == {"note"}
    halves = screen(kind, body, contract("float16"))
    assert tiers(halves) == ({"probe"} if "float8" in body else set())


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("cuda", "y[0] = __expf(x[0]);"),
        ("cuda", 'asm("tanh.approx.f32 %0, %1;" : "=f"(y[0]) : "f"(x[0]));'),
        ("triton", "b = libdevice.fast_expf(a)"),
    ],
)
def test_an_approximation_is_a_probe_unless_the_contract_is_fast(kind: str, body: str) -> None:
    assert tiers(screen(kind, body)) == {"probe"}
    assert screen(kind, body, contract(math="fast")).outcome == "passed"


TF32 = ["", ", input_precision='tf32'", ", allow_tf32=True", ", input_precision=PRECISION",
        ", None, 'tf32'", ", input_precision=None"]  # fmt: skip


@pytest.mark.parametrize("how", TF32)
def test_a_product_of_floats_in_tf32_is_probed_with_advice(how: str) -> None:
    result = screen("triton", f"c = tl.dot(a, a{how})")
    assert tiers(result) == {"probe"}
    assert 'input_precision="ieee"' in result.message
    assert screen("triton", f"c = tl.dot(a, a{how})", contract(math="tf32")).outcome == "passed"
    assert screen("triton", f"c = tl.dot(a, a{how})", contract("float16")).outcome == "passed"


@pytest.mark.parametrize(
    "how", [", input_precision='ieee'", ", input_precision='tf32x3'", ", allow_tf32=False"]
)
def test_a_product_that_keeps_the_precision_says_nothing(how: str) -> None:
    assert screen("triton", f"c = tl.dot(a, a{how})").outcome == "passed"


def test_pipeline_stages_and_an_environment_variable_never_block() -> None:
    more = "    pass\n\nCONFIG = triton.Config({'BLOCK': 64}, num_stages=2, num_warps=4)\n"
    assert screen("triton", more.strip()).outcome == "passed"


def test_without_a_contract_precision_is_a_note() -> None:
    assert tiers(static_screen(CUDA.format("y[0] = __expf(x[0]);"), "cuda")) == {"note"}


def test_a_refusal_keeps_what_else_was_found() -> None:
    result = screen("cuda", "cudaLaunchDeviceV2(y, 0); y[0] = clock64();")
    assert result.outcome == "failed"
    assert [f["tier"] for f in result.evidence["findings"]] == ["block", "probe"]
    told = result.evidence["findings"][1]
    assert (told["name"], told["line"], told["reason"]) == ("clock64", 2, "reads a clock")


def test_gates_without_findings_want_no_probes() -> None:
    assert not wants_probes([GateResult(gate="is_right", outcome="passed", evidence={"runs": 2})])


def test_what_the_baseline_has_as_well_asks_for_no_probes() -> None:
    baseline = screen("cuda", "y[0] = __expf(x[0]);")
    same = screen("cuda", "y[0] = __expf(x[1]) + __expf(x[2]);")
    more = screen("cuda", "y[0] = __expf(x[0]) + clock64();")
    assert wants_probes([same]) and not wants_probes([same], [baseline])
    assert wants_probes([more], [baseline])


@pytest.mark.parametrize("text", ["syscall", "rdtsc", "svc #0", "mrs %0, cntvct_el0"])
def test_host_assembly_that_calls_the_system_or_reads_a_clock_is_refused(text: str) -> None:
    found = screen("cpp", f'asm volatile("{text}");')
    assert found.outcome == "failed" and "(in asm)" in found.message
