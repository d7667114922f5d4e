"""Schedules over short and packed elements, vectors, constant tables and several outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cuda_moves import PretendedLab, array, candidates, cuda_state, scalar
from scheduled import FLAT, SIZES, written_beside
from tiers import cases

from kernelwright.runners.specs.spec import Symbol
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import Move, State
from kernelwright.search.moves.cuda.schedules.elementwise_schedule import MOVE as ELEMENTS
from kernelwright.search.moves.cuda.schedules.row_schedule import MOVE as ROWS

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

_T = "blockIdx.x * blockDim.x + threadIdx.x"
FOURS: dict[str, Any] = {"rows": {"max": 512}, "cols": {"max": 512, "multiple_of": 4}}
A_ROW = {"grid": ["cdiv(rows, 64)"], "block": [64]}
A_FOURTH = {"grid": ["cdiv(rows * cols // 4, 256)"], "block": [256]}


def state_of(
    source: str, arrays: dict[str, str], launch: dict[str, Any], symbols: dict[str, Any] = SIZES
) -> State:
    """A kernel over arrays `role dtype shape`, then rows and cols."""
    given = list[dict[str, Any]]()
    for name, told in arrays.items():
        role, dtype, shape = told.split(" ", 2)
        given.append(array(name, role, *shape.split(", "), dtype=dtype))
        if "int" in dtype and role != "output":
            given[-1]["init"] = {"kind": "randint", "low": 0, "high": 100}
    arguments = [*given, scalar("rows"), scalar("cols")]
    return cuda_state(source, "f", arguments, launch, symbols)


def _head(types: str) -> str:
    return f'extern "C" __global__ void f({types}, int rows, int cols) '


PAIRS = state_of(
    "#include <cuda_fp16.h>\n"
    + _head("const __half2* x, __half2* y")
    + f"{{ int i = {_T}; if (i < rows * cols / 2) {{ float2 v = __half22float2(x[i]);"
    " v.x = v.x / (1.0f + expf(-v.x)); v.y = v.y / (1.0f + expf(-v.y));"
    " y[i] = __float22half2_rn(v); } }",
    {"x": "input float16 rows, cols", "y": "output float16 rows, cols"},
    FLAT, FOURS,
)  # fmt: skip
BRAINS = state_of(
    "#include <cuda_bf16.h>\n"
    + _head("const __nv_bfloat16* x, const __nv_bfloat16* w, __nv_bfloat16* y, float* inv")
    + f"{{ int r = {_T}; if (r >= rows) return; const __nv_bfloat16* v = x + r * cols; float q = 0;"
    " for (int j = 0; j < cols; ++j) { float e = __bfloat162float(v[j]); q += e * e; }"
    " float k = rsqrtf(q / cols + 1e-5f); inv[r] = k; for (int j = 0; j < cols; ++j)"
    " y[r * cols + j] = __float2bfloat16(__bfloat162float(v[j]) * k * __bfloat162float(w[j])); }",
    {"x": "input bfloat16 rows, cols", "w": "input bfloat16 cols",
     "y": "output bfloat16 rows, cols", "inv": "output float32 rows"},
    A_ROW,
)  # fmt: skip
FLOATS = state_of(
    _head("const float4* x, float4* y, const float* w")
    + f"{{ int i = {_T}, n = cols / 4; if (i < rows * n) {{ float4 v = x[i], o = y[i];"
    " const float* u = w + 4 * (i % n); o.x += v.x * u[0]; o.y += v.y * u[1]; o.z += v.z * u[2];"
    " o.w += v.w * u[3]; y[i] = o; } }",
    {"x": "input float32 rows, cols", "y": "inout float32 rows, cols", "w": "input float32 cols"},
    A_FOURTH, FOURS,
)  # fmt: skip
BYTES = state_of(
    _head("const uchar4* x, const signed char* q, unsigned char* y")
    + f"{{ int i = {_T}; if (i >= rows * cols / 4) return; uchar4 v = x[i];"
    " int w = *(const int*)(q + 4 * i); y[4 * i] = v.x + (signed char)w; y[4 * i + 1] = v.y +"
    " (signed char)(w >> 8); y[4 * i + 2] = v.z + (signed char)(w >> 16);"
    " y[4 * i + 3] = v.w + (signed char)(w >> 24); }",
    {"x": "input uint8 rows, cols", "q": "input int8 rows, cols", "y": "output uint8 rows, cols"},
    A_FOURTH, FOURS,
)  # fmt: skip
TABLES = state_of(
    "__constant__ float levels[4] = {0.1f, 0.4f, 0.7f, 1.0f};\n"
    "namespace deep { __constant__ float gains[2][2] = {{1, 2}, {3, 4}};\n"
    "__constant__ int shift = 3; }\n"
    + _head("const int* x, float* y")
    + f"{{ static const float more[3] = {{1.5f, 2.5f, -3.5f}}; int i = {_T}; if (i < rows * cols)"
    " y[i] = levels[x[i] & 3] * deep::gains[i & 1][1] + more[x[i] % 3] * deep::shift; }",
    {"x": "input int32 rows, cols", "y": "output float32 rows, cols"}, FLAT,
)  # fmt: skip
SEVERAL = state_of(
    _head("float* w, const float* g, float* m, double* v, int* signs")
    + f"{{ int i = {_T}; if (i >= rows * cols) return; float d = g[i];"
    " m[i] = 0.9f * m[i] + 0.1f * d;"
    " v[i] = 0.99 * v[i] + 0.01 * d * d; w[i] -= 0.1f * m[i] / (sqrtf(v[i]) + 1e-6f);"
    " signs[i] = w[i] > 0 ? 1 : -1; }",
    {"w": "inout float32 rows, cols", "g": "input float32 rows, cols",
     "m": "inout float32 rows, cols", "v": "inout float64 rows, cols",
     "signs": "output int32 rows, cols"}, FLAT,
)  # fmt: skip
LOOPS = state_of(
    _head("const float4* x, float* y, float* least")
    + f"{{ int r = {_T}; if (r >= rows) return; int n = cols / 4; const float4* p = x + r * n;"
    " float4 s = make_float4(0, 0, 0, 0); float m = 3e38f; for (int k = 0; k < n; ++k)"
    " { float4 v = p[k]; s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;"
    " m = fminf(m, fminf(fminf(v.x, v.y), fminf(v.z, v.w))); }"
    " y[r] = s.x + s.y + s.z + s.w; least[r] = m; }",
    {"x": "input float32 rows, cols", "y": "output float32 rows", "least": "output float32 rows"},
    A_ROW, FOURS,
)  # fmt: skip
DOTS = state_of(
    _head("const char4* a, const char4* b, int* y, int* norm")
    + f"{{ int r = {_T}; if (r >= rows) return; int s = 0, q = 0, n = cols / 4; for (int k = 0;"
    " k < n; ++k) { char4 u = a[r * n + k], v = b[r * n + k]; s += u.x * v.x + u.y * v.y"
    " + u.z * v.z + u.w * v.w; q += u.x * u.x + u.y * u.y + u.z * u.z + u.w * u.w; }"
    " y[r] = s; norm[r] = q; }",
    {"a": "input int8 rows, cols", "b": "input int8 rows, cols", "y": "output int32 rows",
     "norm": "output int32 rows"},
    A_ROW, FOURS,
)  # fmt: skip
UNSIGNED = state_of(
    _head("const unsigned char* a, const unsigned char* x, unsigned* y")
    + f"{{ int r = {_T}; if (r >= rows) return; unsigned s = 0; for (int k = 0; k < cols; ++k)"
    " s += a[r * cols + k] * x[k]; y[r] = s + 1; }",
    {"a": "input uint8 rows, cols", "x": "input uint8 cols", "y": "output uint32 rows"},
    A_ROW,
)  # fmt: skip
LONG = {"rows": {"max": 512}, "cols": {"max": 1 << 20}}
KERNELS = {
    "a half more": (ELEMENTS, PAIRS, 2e-3, "Lanes<__half"),
    "floats in fours, added in place": (ELEMENTS, FLOATS, 1e-5, "Lanes<float"),
    "bytes in words of four": (ELEMENTS, BYTES, 0, "Lanes<unsigned char"),
    "tables of the program": (ELEMENTS, TABLES, 1e-5, "deep::"),
    "several arrays updated in place, one of doubles": (ELEMENTS, SEVERAL, 1e-5, "Lanes<double"),
    "products of rows of bytes": (ROWS, DOTS, 0, "__dp4a"),
    "a matrix of bytes without signs times a vector": (ROWS, UNSIGNED, 0, "__dp4a"),
    "rows in fours": (ROWS, LOOPS, 1e-4, "Lanes<float"),
}


@cases(
    "kernel",
    KERNELS,
    kinds=lambda kernel: [KERNELS[kernel][0].id],
    why="further types of what a move reads",
)
def test_what_is_written_gives_what_the_kernel_gives(kernel: str, lab: PretendedLab) -> None:
    move, state, near, word = KERNELS[kernel]
    shapes = [{"rows": 37, "cols": 64}, {"rows": 5, "cols": 36}]
    found = written_beside(lab, move, state, shapes, near=near)
    assert all(word in each.source for each in found)


def test_bytes_are_summed_in_32_bits_only_where_they_surely_fit() -> None:
    long = replace(UNSIGNED, spec=UNSIGNED.spec.model_copy(update={"symbols": {
        name: Symbol(min=1, **sizes) for name, sizes in LONG.items()}}))  # fmt: skip
    sources = [candidates(ROWS, each)[0].source or "" for each in (UNSIGNED, long)]
    assert ["byte_products" in each for each in sources] == [True, False]
    assert ["long long total" in each for each in sources] == [False, True]


def test_rows_of_bfloat16_are_vectors_of_eight() -> None:
    source = candidates(ROWS, BRAINS)[0].source
    assert source is not None
    assert "Lanes<__nv_bfloat16" in source
    assert "__float2bfloat16(" in source


def test_arrays_that_begin_anywhere_are_not_read_as_vectors() -> None:
    aligned, loose = (
        cuda_state(
            f'extern "C" __global__ void f(const float* x, float* y, int n) {{ int i = {_T};'
            " if (i < n) y[i] = x[i] + 1.0f; }",
            "f",
            [array("x", "input", "n", align=align), array("y", "output", "n"), scalar("n")],
            {"grid": ["cdiv(n, 256)"], "block": [256]},
            {"n": {"max": 4096}},
        )
        for align in (256, 4)
    )
    assert _loads(ELEMENTS, aligned) == 1
    assert _loads(ELEMENTS, loose) == 0


def _loads(move: Move, state: State) -> int:
    source = candidates(move, state)[0].source
    return (source or "").count("x_lanes[item] = ")
