"""Kernels as people write them, in several spellings, with contracts, for tests of CUDA idioms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.search.moves import State

Argument = dict[str, Any]
ROW = "int row = blockIdx.x * blockDim.x + threadIdx.x;"
SIZES: Mapping[str, Mapping[str, int]] = {
    "uneven": {"rows": 7, "cols": 131, "n": 1003, "M": 19, "N": 37, "K": 23, "B": 3},
    "whole": {"rows": 5, "cols": 264, "n": 4096, "M": 136, "N": 264, "K": 72, "B": 2},
}


def array(name: str, role: str, *shape: str | int, dtype: str = "float32", **more: Any) -> Argument:
    """An array of a contract."""
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape), **more}


def scalar(name: str) -> Argument:
    """An integer that is the symbol of its name."""
    return {"name": name, "role": "scalar", "dtype": "int32", "value": name}


@dataclass(frozen=True)
class Source:
    """A kernel that some idioms recognise."""

    moves: tuple[str, ...]
    text: str
    arguments: tuple[Argument, ...]
    reference: str
    grid: Sequence[str | int]
    block: Sequence[str | int] = (256,)
    io: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fill: str | None = None
    multiple_of: int = 1
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: SIZES)

    def kernel(self, text: str | None = None) -> LoadedKernel:
        """The kernel with its sizes as workloads."""
        symbols = sorted({a["value"] for a in self.arguments if isinstance(a.get("value"), str)})
        fills = [{"fill": self.fill, "pattern": "00000000"}] if self.fill else []
        step = {"launch": "f", "grid": list(self.grid), "block": list(self.block)}
        fitting = {
            name: {s: of[s] for s in symbols}
            for name, of in self.sizes.items()
            if all(of[s] % self.multiple_of == 0 for s in symbols)
        }
        data = {
            "name": "f",
            "kernel": {
                "kernel_type": "cuda",
                "source_code": text or self.text,
                "metadata": {"kernel_name": "f"},
                "plan": {"steps": [*fills, step]},
            },
            "io": {"arguments": list(self.arguments), **self.io},
            "symbols": {
                s: {"min": self.multiple_of, "max": 4096, "multiple_of": self.multiple_of}
                for s in symbols
            },
            "workloads": [{"name": n, "symbols": of} for n, of in fitting.items()],
            "reference": {"source_code": self.reference},
        }
        return load_data(data, Path("."), Roots([Path(".")]))

    def state(self, text: str | None = None, plan: Any = None) -> State:
        """The kernel as a search has it; another `text` under the same contract."""
        kernel = self.kernel()
        return State("cuda", text or self.text, {}, BuildOptions(), kernel.spec, plan)


def _rows(body: str, reference: str, *arguments: Argument, moves: str = "") -> Source:
    names = ", ".join(
        f"{'const ' if a['role'] == 'input' else ''}{C_TYPES[a['dtype']]}* {a['name']}"
        for a in arguments
    )
    text = f'extern "C" __global__ void f({names}, int rows, int cols) {{\n{body}\n}}\n'
    if any(a["dtype"] == "float16" for a in arguments):
        text = "#include <cuda_fp16.h>\n" + text
    given = (*arguments, scalar("rows"), scalar("cols"))
    inputs = [a["name"] for a in given if a["role"] != "output"]
    return Source(
        tuple(moves.split() or ("row_per_team", "row_in_registers")),
        text,
        given,
        f"import numpy as np\ndef reference({', '.join(inputs)}):\n    return {reference}\n",
        ("cdiv(rows, 256)",),
    )


C_TYPES = {"float32": "float", "float16": "__half", "int32": "int", "uint8": "unsigned char"}
X, Y = array("x", "input", "rows", "cols"), array("y", "output", "rows", "cols")
EXP = "np.exp(x - x.max(1, keepdims=True))"
SOFTMAX = f"{EXP} / {EXP}.sum(1, keepdims=True)"
MATRICES = (
    array("a", "input", "M", "K"),
    array("b", "input", "K", "N"),
    array("c", "output", "M", "N"),
    *map(scalar, ("M", "N", "K")),
)
HALVES = tuple({**a, "dtype": "float16"} if a["role"] != "scalar" else a for a in MATRICES)
TIMES = "def reference(a, b, M, N, K):\n    return a @ b\n"
TILES = ("cdiv(N, 16)", "cdiv(M, 16)")

SOURCES: Mapping[str, Source] = {
    "softmax with pointers to the row, stored before it is scaled": _rows(
        f"""    {ROW}
    if (row < rows) {{
        const float* in = x + (size_t)row * cols;
        float* out = y + (size_t)row * cols;
        float m = -INFINITY, total = 0.f;
        for (int i = 0; i < cols; i++) if (in[i] > m) m = in[i];
        for (int i = 0; i < cols; i++) {{
            out[i] = expf(in[i] - m);
            total += out[i];
        }}
        for (int i = 0; i < cols; i++) out[i] /= total;
    }}""",
        SOFTMAX, X, Y,
    ),
    "softmax that computes its exponentials twice, by values of its own": _rows(
        f"""    {ROW}
    if (row >= rows) return;
    float m = x[row * cols];
    for (int i = 1; i < cols; i++) m = fmaxf(m, x[row * cols + i]);
    float total = 0.f;
    for (int i = 0; i < cols; i++) {{
        const float v = x[row * cols + i];
        total += expf(v - m);
    }}
    for (int j = 0; j < cols; j++) {{
        const float e = expf(x[row * cols + j] - m);
        y[row * cols + j] = e / total;
    }}""",
        SOFTMAX, X, Y,
    ),
    "argmin with its value": _rows(
        f"""    {ROW}
    if (row >= rows) return;
    float best = x[row * cols];
    int at = 0;
    for (int j = 1; j < cols; ++j) {{
        if (x[row * cols + j] < best) {{
            at = j;
            best = x[row * cols + j];
        }}
    }}
    place[row] = at;
    least[row] = best;""",
        "x.argmin(1), x.min(1)",
        X, array("place", "output", "rows", dtype="int32"), array("least", "output", "rows"),
    ),
    "mean and variance in one loop, fp16": _rows(
        f"""    const {ROW}
    if (row >= rows) return;
    float sum = 0.0f, squares = 0.0f;
    for (int j = 0; j < cols; j += 1) {{
        const float v = __half2float(x[row * cols + j]);
        sum = sum + v;
        squares += v * v;
    }}
    const float mean = sum / cols;
    const float scale = rsqrtf(squares / cols - mean * mean + 1e-3f);
    for (int j = 0; j < cols; j += 1)
        y[row * cols + j] = __float2half((__half2float(x[row * cols + j]) - mean) * scale);""",
        "(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-3)",
        {**X, "dtype": "float16"}, {**Y, "dtype": "float16"},
    ),
    "in place, with a weight a column": _rows(
        f"""    {ROW}
    if (row >= rows) return;
    float s = 0.0f;
    for (int j = 0; j < cols; ++j) s += x[row * cols + j] * w[j];
    for (int j = 0; j < cols; ++j) x[row * cols + j] = x[row * cols + j] + s;""",
        "x + (x * w).sum(1, keepdims=True)",
        array("x", "inout", "rows", "cols"), array("w", "input", "cols"),
    ),
    "exclusive running sums": _rows(
        f"""    {ROW}
    if (row >= rows) return;
    float sum = 0;
    for (int j = 0; j < cols; ++j) {{
        y[row * cols + j] = sum;
        sum += 2.0f * x[row * cols + j];
    }}""",
        "2 * (np.cumsum(x, 1) - x)", X, Y, moves="row_scan",
    ),
    "a product by one-dimensional blocks, factors the other way round": Source(
        ("sgemm_ring", "sgemm_tiles"),
        """extern "C" __global__
void f(const float* a, const float* b, float* c, int M, int N, int K) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= M * N) return;
    int i = idx / N, j = idx % N;
    float acc = 0.f;
    for (int p = 0; p < K; p++) {
        float left = a[i * K + p];
        float right = b[p * N + j];
        acc = fmaf(right, left, acc);
    }
    c[idx] = acc;
}
""",
        MATRICES, TIMES, ("cdiv(M * N, 256)",),
    ),
    "a product with alpha, beta and a bias": Source(
        ("sgemm_ring", "sgemm_tiles"),
        """// scaled, added to what is there
extern "C" __global__ void f(const float* a, const float* b, const float* bias, float* c, int m,
                             int n, int k, float alpha) {
    const int r = blockIdx.y * 16 + threadIdx.y, q = blockIdx.x * 16 + threadIdx.x;
    if (r < m && q < n) {
        float total = 0.0f;
        for (int t = 0; t < k; ++t) total += a[r * k + t] * b[t * n + q];
        total = alpha * total + bias[q];
        c[r * n + q] = fmaxf(total, 0.0f) + 0.5f * c[r * n + q];
    }
}
""",
        (
            array("a", "input", "M", "K"), array("b", "input", "K", "N"),
            array("bias", "input", "N"), array("c", "inout", "M", "N"),
            *map(scalar, ("M", "N", "K")),
            {"name": "alpha", "role": "scalar", "dtype": "float32", "value": 0.25},
        ),
        "import numpy as np\ndef reference(a, b, bias, c, M, N, K, alpha):\n"
        "    return np.maximum(alpha * (a @ b) + bias, 0) + 0.5 * c\n",
        TILES, (16, 16),
    ),
    "the tiles of the tutorials, their number counted": Source(
        ("sgemm_ring", "sgemm_tiles"),
        """#define W 16
extern "C" __global__ void f(const float* a, const float* b, float* c, int M, int N, int K) {
    __shared__ float As[W][W];
    __shared__ float Bs[W][W];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * W + ty, col = blockIdx.x * W + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + W - 1) / W; ++t) {
        if (row < M && t * W + tx < K) As[ty][tx] = a[row * K + t * W + tx];
        else As[ty][tx] = 0.0f;
        if (col < N && t * W + ty < K) Bs[ty][tx] = b[(t * W + ty) * N + col];
        else Bs[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < W; ++k) sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) c[row * N + col] = sum;
}
""",
        MATRICES, TIMES, TILES, (16, 16),
    ),
    "many products, each a plane of the grid": Source(
        ("sgemm_ring", "sgemm_tiles"),
        """extern "C" __global__
void f(const float* a, const float* b, float* c, int B, int M, int N, int K) {
    int q = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y, i = blockIdx.z;
    if (r >= M || q >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += a[i * M * K + r * K + k] * b[i * K * N + k * N + q];
    c[i * M * N + r * N + q] = sum;
}
""",
        (
            array("a", "input", "B", "M", "K"), array("b", "input", "B", "K", "N"),
            array("c", "output", "B", "M", "N"), *map(scalar, ("B", "M", "N", "K")),
        ),
        "def reference(a, b, B, M, N, K):\n    return a @ b\n",
        (*TILES, "B"), (16, 16),
    ),
    "a sum, an atomic addition an element": Source(
        ("sum_blocks",),
        """extern "C" __global__ void f(const float* x, float* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total[0], x[i] * x[i]);
}
""",
        (array("x", "input", "n"), array("total", "output", 1), scalar("n")),
        "def reference(x, n):\n    return (x * x).sum().reshape(1)\n",
        ("cdiv(n, 256)",), io={"deterministic": False}, fill="total",
    ),
    "a sum by a tree that halves": Source(
        ("sum_blocks",),
        """extern "C" __global__ void f(const float* x, float* total, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = (i < n) ? x[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, s[0]);
}
""",
        (
            # none that comes near nothing, where any rounding is too far off
            array("x", "input", "n", init={"kind": "uniform", "low": 0.5, "high": 1.5}),
            array("total", "output", 1), scalar("n"),
        ),
        "def reference(x, n):\n    return x.sum().reshape(1)\n",
        ("cdiv(n, 256)",), io={"deterministic": False}, fill="total",
    ),
    "a histogram in steps of the grid": Source(
        ("histogram_shared",),
        """extern "C" __global__ void f(const int* values, int* bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[values[i]], 1);
}
""",
        (
            array("values", "input", "n", dtype="int32", init={"kind": "randint", "high": 40}),
            array("bins", "output", 40, dtype="int32"), scalar("n"),
        ),
        "import numpy as np\ndef reference(values, n):\n"
        "    return np.bincount(values.astype(int), minlength=40)\n",
        (4,), fill="bins",
    ),
    "a transpose by one-dimensional blocks": Source(
        ("transpose_tile",),
        """extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = i / cols, c = i % cols;
    if (i < rows * cols) y[c * rows + r] = x[i];
}
""",
        (X, array("y", "output", "cols", "rows"), scalar("rows"), scalar("cols")),
        "def reference(x, rows, cols):\n    return x.T\n",
        ("cdiv(rows * cols, 256)",),
    ),
    "a transpose of 16-bit numbers": Source(
        ("transpose_tile",),
        """extern "C" __global__ void f(const short* x, short* y, int rows, int cols) {
    int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
    if (c < cols && r < rows) y[c * rows + r] = x[r * cols + c];
}
""",
        (
            array("x", "input", "rows", "cols", dtype="int16"),
            array("y", "output", "cols", "rows", dtype="int16"), scalar("rows"), scalar("cols"),
        ),
        "def reference(x, rows, cols):\n    return x.T\n",
        ("cdiv(cols, 16)", "cdiv(rows, 16)"), (16, 16),
        sizes={"uneven": SIZES["uneven"], "vectors": {"rows": 136, "cols": 264}},
    ),
}  # fmt: skip
"""all run on the pretended GPU"""

MANY_TILES = {**SIZES, "many": {"M": 1544, "N": 2824, "K": 328}}
"""tiles for more than 132 blocks, and more steps than a ring of 4 stages has; tails on all sides"""
TENSOR: Mapping[str, Source] = {
    "fp16": Source(
        ("hgemm_wgmma",),
        """#include <cuda_fp16.h>
extern "C" __global__ void f(const __half* a, const __half* b, __half* c, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += __half2float(a[row * K + k]) * __half2float(b[k * N + col]);
    c[row * N + col] = __float2half(sum);
}
""",
        HALVES, TIMES, TILES, (16, 16), sizes=MANY_TILES,
    ),
    "fp16, whole rows, the right factor stored transposed, a float result": Source(
        ("hgemm_wgmma",),
        """#include <cuda_fp16.h>
extern "C" __global__ void f(const half* a, const half* b, float* c, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += (float)a[row * K + k] * (float)b[col * K + k];
    c[row * N + col] = 2.0f * sum;
}
""",
        (
            array("a", "input", "M", "K", dtype="float16"),
            array("b", "input", "N", "K", dtype="float16"),
            array("c", "output", "M", "N"), *map(scalar, ("M", "N", "K")),
        ),
        "def reference(a, b, M, N, K):\n    return 2 * (a @ b.T)\n",
        TILES, (16, 16), multiple_of=8, sizes=MANY_TILES,
    ),
    "bf16, added to what is there, with names that tiles like to have": Source(
        ("hgemm_wgmma",),
        """#include <cuda_bf16.h>
#define T 16
#define TILE_K 16
typedef __nv_bfloat16 bf16;
extern "C" __global__ void f(const bf16* a, const bf16* b, const float* bias, bf16* c, int m, int n,
                             int k) {
    const int r = blockIdx.y * T + threadIdx.y, q = blockIdx.x * T + threadIdx.x;
    if (r < m && q < n) {
        float total = 0.0f;
        for (int t = 0; t < k; ++t)
            total += __bfloat162float(a[r * k + t]) * __bfloat162float(b[t * n + q]);
        total = fmaxf(total + bias[q], 0.0f) + 0.5f * __bfloat162float(c[r * n + q]);
        c[r * n + q] = __float2bfloat16(total);
    }
}
""",
        (
            array("a", "input", "M", "K", dtype="bfloat16"),
            array("b", "input", "K", "N", dtype="bfloat16"),
            array("bias", "input", "N"), array("c", "inout", "M", "N", dtype="bfloat16"),
            *map(scalar, ("M", "N", "K")),
        ),
        "import numpy as np\ndef reference(a, b, bias, c, M, N, K):\n"
        "    return np.maximum(a @ b + bias, 0) + 0.5 * c\n",
        TILES, (16, 16), sizes=MANY_TILES,
    ),
}  # fmt: skip
"""tensor cores: built everywhere, run on a real GPU alone"""
