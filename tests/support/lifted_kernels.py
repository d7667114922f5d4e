"""Kernels in many spellings, lifted from the PTX that NVRTC makes of them."""

from __future__ import annotations

from pathlib import Path

from kernelwright.analysis.lift import Argument, Lifted, lift
from kernelwright.analysis.ptx import read_ptx
from kernelwright.runners.toolchains.compilers.plain_ptx import plain_ptx

HEAD = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) '
ROWS = (
    Argument("x", "float32", array=True),
    Argument("y", "float32", array=True),
    Argument("rows", "int32", array=False),
    Argument("cols", "int32", array=False),
)
"""what `HEAD` takes"""


def lifted(
    source: str, folder: Path, arguments: tuple[Argument, ...] = ROWS, entry: str = "f", **more: int
) -> Lifted:
    """The kernel of a source; `block`: threads of a block along x."""
    made = plain_ptx(source, entry, folder, defines={})
    assert isinstance(made, tuple), made.message
    ptx, name = made
    return lift(read_ptx(ptx), name, arguments, (more["block"],) if "block" in more else None)


GELU = "y[I] = 0.5f * x[I] * (1.0f + tanhf(0.79788456f * x[I]));"
ELEMENTWISE = {
    "plain": HEAD
    + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * cols) "
    + GELU.replace("I", "i")
    + "}",
    "a typedef and auto": "typedef float real; using index = unsigned;\n"
    'extern "C" __global__ void f(const real* __restrict__ x, real* y, int rows, int cols) {'
    " auto i = (index)(threadIdx.x + blockDim.x * blockIdx.x); const auto n = rows * cols;"
    " if (i < (index)n) { real v = x[i];"
    " y[i] = real(0.5) * v * (1.0f + tanhf(0.79788456f * v)); }}",
    "a template and helpers": "template <typename T> __device__ T half_of(T v) "
    "{ return T(0.5) * v; }\n"
    "template <int Axis> __device__ int place() "
    "{ return blockIdx.x * blockDim.x + threadIdx.x + Axis; }\n"
    "__device__ void put(float* at, float v) "
    "{ *at = half_of(v) * (1.0f + tanhf(0.79788456f * v)); }\n"
    + HEAD
    + "{ const int i = place<0>(); if (i < rows * cols) put(&y[i], x[i]); }",
    "macros": "#define ID (blockIdx.x * blockDim.x + threadIdx.x)\n#define GELU(v) "
    "(0.5f * (v) * (1.0f + tanhf(0.79788456f * (v))))\n"
    + HEAD
    + "{ if (ID < rows * cols) y[ID] = GELU(x[ID]); }",
    "an early return and pointers": HEAD
    + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= rows * cols) return;"
    " x += i; float* to = y + i; *to = 0.5f * *x * (1.0f + tanhf(0.79788456f * *x)); }",
    "size_t over the grid": HEAD
    + "{ for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)rows * cols;"
    " i += (size_t)blockDim.x * gridDim.x) "
    + GELU.replace("I", "i")
    + "}",
    "a while over the grid": HEAD
    + "{ int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;"
    " while (i < rows * cols) { " + GELU.replace("I", "i") + " i += step; } }",
}  # fmt: skip
"""one kernel in spellings that all mean y = gelu(x)"""

LOOP = "for (int j = 0; j < cols; ++j)"
_ROW = "int r = blockIdx.x * blockDim.x + threadIdx.x; "
ROW_SUMS = {
    "plain": HEAD + f"{{ {_ROW} if (r < rows) {{ float s = 0; {LOOP} s += x[r * cols + j]; "
    "y[r] = s; }}",
    "a row pointer": HEAD + f"{{ {_ROW} if (r >= rows) return; const float* row = x + r * cols;"
    f" float s = 0; {LOOP} s += row[j]; y[r] = s; }}",
    "a stepped pointer": HEAD + f"{{ {_ROW} if (r >= rows) return; const float* p = x + r * cols;"
    " float s = 0; const float* end = p + cols; while (p != end) s += *p++; y[r] = s; }",
    "a count that goes down": HEAD + f"{{ {_ROW} if (r >= rows) return; float s = 0; "
    "x += r * cols; for (int left = cols; left > 0; --left) { s = *x + s; ++x; } y[r] = s; }",
    "size_t and a helper": "__device__ float total(const float* v, size_t n) { float s = 0;"
    " for (size_t k = 0; k < n; k++) s += v[k]; return s; }\n" + HEAD
    + "{ size_t r = blockIdx.x * (size_t)blockDim.x + threadIdx.x; if (r >= rows) return;"
    " y[r] = total(x + r * cols, cols); }",
}  # fmt: skip
"""one kernel in spellings that all mean the sums of rows"""
