"""Plain CUDA kernels in the spellings of public code, with what they mean in numpy and in torch.

DEVELOPED: their spelling stands in the tests of `search/moves/cuda/schedules`. HELD_OUT: written
after those schedules, and no schedule was changed for one of them; claims rest on these alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MATRIX: Mapping[str, Any] = {"x": ["rows", "cols"], "y": ["rows", "cols"]}
A_ROW = {"grid": ["cdiv(rows, 128)"], "block": [128]}
A_BLOCK = {"grid": ["rows"], "block": [256]}
FLAT = {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}
HEAD = 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) '
_R = "int r = blockIdx.x * blockDim.x + threadIdx.x; if (r >= rows) return;"
_V = f"{_R} const float* v = x + r * cols;"
_J = "for (int j = 0; j < cols; ++j)"
_CELL = (
    "int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (r >= rows || c >= cols) return;"
)
CELLS = {"grid": ["cdiv(cols, 16)", "cdiv(rows, 16)"], "block": [16, 16]}


@dataclass(frozen=True)
class Plain:
    """One kernel `f`; its arrays in order, the last one its output, then `rows` and `cols`."""

    source: str
    launch: Mapping[str, Any]
    means: str
    """in numpy, over the inputs"""
    torch: str
    """the same in torch"""
    arrays: Mapping[str, list[str]] = field(default_factory=lambda: dict(MATRIX))
    dtypes: Mapping[str, str] = field(default_factory=dict[str, str])
    rows: int = 8192
    cols: int = 2048
    least: int = 1024
    multiple: int = 1
    """of rows"""

    def spec(self, name: str) -> dict[str, Any]:
        """As a spec in JSON."""
        arrays = [self._array(n, shape) for n, shape in self.arrays.items()]
        scalars = [
            {"name": n, "role": "scalar", "dtype": "int32", "value": n} for n in ("rows", "cols")
        ]
        inputs = ", ".join(list(self.arrays)[:-1])
        lines = ["import numpy as np", f"def reference({inputs}, **sizes):"]
        lines.append(f"    return {self.means}")
        return {
            "name": name,
            "kernel": {
                "kernel_type": "cuda",
                "source_code": self.source,
                "metadata": {"kernel_name": "f"},
                "launch": dict(self.launch),
            },
            "io": {"arguments": [*arrays, *scalars]},
            "symbols": {
                "rows": {"min": self.least, "max": 65536, "multiple_of": self.multiple},
                "cols": {"min": self.least, "max": 8192},
            },
            "workloads": [
                {"name": "main", "symbols": {"rows": self.rows, "cols": self.cols}},
                {"name": "ragged", "symbols": self._ragged(), "held_out": True},
            ],
            "reference": {"source_code": "\n".join(lines) + "\n"},
        }

    def _ragged(self) -> dict[str, int]:
        """Sizes that vectors and tiles do not divide."""
        small = self.least < 1024
        rows, cols = (777, 651) if small else (3001, 1999)
        return {"rows": rows - rows % self.multiple, "cols": cols}

    def _array(self, name: str, shape: list[str]) -> dict[str, Any]:
        output = name == list(self.arrays)[-1]
        dtype = self.dtypes.get(name, "float32")
        found: dict[str, Any] = {
            "name": name,
            "role": "output" if output else "input",
            "dtype": dtype,
        }
        if dtype == "int32" and not output:
            found["init"] = {"kind": "randint", "low": 0, "high": 1000}
        # a plain sum of thousands of floats, in order, is the less exact one
        return {**found, "shape": shape, "tolerance": {"floor": 1e-4}} if output else {
            **found, "shape": shape}  # fmt: skip


DEVELOPED: Mapping[str, Plain] = {
    "softmax, online, a thread a row": Plain(
        HEAD + f"{{ {_V} float m = -1e30f, s = 0; {_J} {{ float n = fmaxf(m, v[j]);"
        f" s = s * expf(m - n) + expf(v[j] - n); m = n; }} {_J} y[r * cols + j] ="
        " expf(v[j] - m) / s; }",
        A_ROW,
        "(lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(x - x.max(axis=1, keepdims=True)))",
        "torch.softmax(x, 1)",
    ),
    "norm, two sums, a thread a row": Plain(
        HEAD + f"{{ {_V} float s = 0, q = 0; {_J} {{ s += v[j]; q += v[j] * v[j]; }}"
        " float mean = s / cols, inv = rsqrtf(q / cols - mean * mean + 1e-5f);"
        f" {_J} y[r * cols + j] = (v[j] - mean) * inv; }}",
        A_ROW,
        "(x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)",
        "F.layer_norm(x, (x.shape[1],))",
    ),
    "argmax, a thread a row": Plain(
        HEAD.replace("float* y", "int* y")
        + f"{{ {_V} float m = v[0]; int at = 0; for (int j = 1; j < cols; ++j)"
        " if (v[j] > m) { m = v[j]; at = j; } y[r] = at; }",
        A_ROW,
        "x.argmax(axis=1)",
        "x.argmax(1)",
        {"x": ["rows", "cols"], "y": ["rows"]},
        {"y": "int32"},
    ),
    "scaled by rows and columns, threads along rows": Plain(
        HEAD + "{ int r = blockIdx.x * blockDim.x + threadIdx.x;"
        " int c = blockIdx.y * blockDim.y + threadIdx.y;"
        " if (r < rows && c < cols) y[r * cols + c] = x[r * cols + c] * 2.0f + x[c]; }",
        {"grid": ["cdiv(rows, 16)", "cdiv(cols, 16)"], "block": [16, 16]},
        "x * 2 + x[0]",
        "x * 2 + x[0]",
    ),
}

HELD_OUT: Mapping[str, Plain] = {
    "cross entropy, a thread a row": Plain(
        'extern "C" __global__ void f(const float* x, const int* t, float* y, int rows, int cols) '
        f"{{ {_V} float m = v[0]; {_J} m = fmaxf(m, v[j]); float s = 0; {_J} s += expf(v[j] - m);"
        " y[r] = logf(s) + m - v[t[r]]; }",
        A_ROW,
        "(lambda m: np.log(np.exp(x - m).sum(axis=1)) + m[:, 0]"
        " - np.take_along_axis(x, t[:, None].astype(np.int64), axis=1)[:, 0])"
        "(x.max(axis=1, keepdims=True))",
        "F.cross_entropy(x, t.long(), reduction='none')",
        {"x": ["rows", "cols"], "t": ["rows"], "y": ["rows"]},
        {"t": "int32"},
    ),
    "rms norm, a block a row, a tree": Plain(
        "typedef float real;\n"
        'extern "C" __global__ void f(const real* x, const real* w, real* y, int rows, int cols) {'
        " __shared__ real part[256]; const real* row = x + (size_t)blockIdx.x * cols; real q = 0;"
        " for (int j = threadIdx.x; j < cols; j += blockDim.x) q += row[j] * row[j];"
        " part[threadIdx.x] = q; __syncthreads();"
        " for (int half = blockDim.x / 2; half > 0; half >>= 1) { if (threadIdx.x < half)"
        " part[threadIdx.x] += part[threadIdx.x + half]; __syncthreads(); }"
        " real inv = rsqrtf(part[0] / cols + 1e-6f);"
        " for (int j = threadIdx.x; j < cols; j += blockDim.x)"
        " y[(size_t)blockIdx.x * cols + j] = row[j] * inv * w[j]; }",
        A_BLOCK,
        "x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6) * w",
        "F.rms_norm(x, (x.shape[1],), w, 1e-6)",
        {"x": ["rows", "cols"], "w": ["cols"], "y": ["rows", "cols"]},
    ),
    "mish with a residual, a template over the grid": Plain(
        "template <typename T> __device__ T mish(T v) { return v * tanhf(log1pf(expf(v))); }\n"
        'extern "C" __global__ void f(const float* x, const float* z, float* y, int rows,'
        " int cols) { size_t n = (size_t)rows * cols, step = (size_t)gridDim.x * blockDim.x;"
        " for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += step)"
        " y[i] = mish(x[i]) + z[i]; }",
        {"grid": [1056], "block": [256]},
        "x * np.tanh(np.log1p(np.exp(x))) + z",
        "F.mish(x) + z",
        {"x": ["rows", "cols"], "z": ["rows", "cols"], "y": ["rows", "cols"]},
    ),
    "rows of a table, a thread a row": Plain(
        'extern "C" __global__ void f(const float* x, const int* t, float* y, int rows, int cols) '
        f"{{ {_R} {_J} y[(size_t)r * cols + j] = x[(size_t)t[r] * cols + j]; }}",
        A_ROW,
        "x[t.astype(np.int64)]",
        "x[t.long()]",
        {"x": ["rows", "cols"], "t": ["rows"], "y": ["rows", "cols"]},
        {"t": "int32"},
    ),
    "rows to length one, a helper with a pointer that steps": Plain(
        "static __device__ float squares(const float* p, const float* end) { float s = 0;"
        " while (p != end) { s += *p * *p; ++p; } return s; }\n"
        + HEAD
        + f"{{ {_V} float n = sqrtf(squares(v, v + cols));"
        f" {_J} y[r * cols + j] = v[j] / fmaxf(n, 1e-12f); }}",
        A_ROW,
        "x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1e-12)",
        "F.normalize(x, dim=1)",
    ),
    "a product and a gelu, a helper over row pointers": Plain(
        "static __device__ float dotted(const float* u, const float* v, int n, int step) { float s"
        " = 0; while (n-- > 0) { s += *u++ * *v; v += step; } return s; }\n"
        "__device__ float gelu(float v) { return 0.5f * v * (1.0f + erff(v * 0.70710678f)); }\n"
        'extern "C" __global__ void f(const float* x, const float* w, float* y, int rows, int cols)'
        f" {{ {_CELL} y[r * cols + c] = gelu(dotted(x + r * cols, w + c, cols, cols)); }}",
        CELLS,
        "(lambda p: 0.5 * p * (1 + np.vectorize(__import__('math').erf)(p * 0.5 ** 0.5)))(x @ w)",
        "F.gelu(x @ w)",
        {"x": ["rows", "cols"], "w": ["cols", "cols"], "y": ["rows", "cols"]},
        rows=2048,
        cols=1024,
        least=256,
    ),
    "a product with a transposed factor, a tile in shared memory": Plain(
        'extern "C" __global__ void f(const float* x, const float* w, float* y, int rows, int cols)'
        " { __shared__ float a[16][17], b[16][17]; int tx = threadIdx.x, ty = threadIdx.y;"
        " int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx; float s = 0;"
        " for (int k = 0; k < cols; k += 16) {"
        " a[ty][tx] = r < rows && k + tx < cols ? x[r * cols + k + tx] : 0;"
        " b[ty][tx] = blockIdx.x * 16 + ty < cols && k + tx < cols"
        " ? w[(blockIdx.x * 16 + ty) * cols + k + tx] : 0; __syncthreads();"
        " for (int t = 0; t < 16; ++t) s += a[ty][t] * b[tx][t]; __syncthreads(); }"
        " if (r < rows && c < cols) y[r * cols + c] = s; }",
        CELLS,
        "x @ w.T",
        "x @ w.T",
        {"x": ["rows", "cols"], "w": ["cols", "cols"], "y": ["rows", "cols"]},
        rows=2048,
        cols=1024,
        least=256,
    ),
    "distances of all pairs": Plain(
        'extern "C" __global__ void f(const float* x, const float* w, float* y, int rows, int cols)'
        f" {{ {_CELL} float s = 0; for (int k = 0; k < 256; ++k) {{"
        " float d = x[(size_t)r * 256 + k] - w[(size_t)c * 256 + k]; s += d * d; }"
        " y[(size_t)r * cols + c] = sqrtf(s); }",
        CELLS,
        "np.sqrt(np.maximum((x * x).sum(1)[:, None] + (w * w).sum(1) - 2 * (x @ w.T), 0))",
        "torch.cdist(x, w, compute_mode='donot_use_mm_for_euclid_dist')",
        {"x": ["rows", "256"], "w": ["cols", "256"], "y": ["rows", "cols"]},
        rows=4096,
        cols=2048,
        least=256,
    ),
    "channels last, a thread an element over the grid": Plain(
        HEAD + "{ int n = rows * cols; for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < n;"
        " e += gridDim.x * blockDim.x) { int p = e % cols, c = e / cols % 64, b = e / (cols * 64);"
        " y[(b * cols + p) * 64 + c] = x[e]; } }",
        {"grid": [1056], "block": [256]},
        "x.reshape(-1, 64, x.shape[1]).swapaxes(1, 2).reshape(x.shape)",
        "x.view(-1, 64, x.shape[1]).transpose(1, 2).contiguous()",
        multiple=64,
    ),
}
