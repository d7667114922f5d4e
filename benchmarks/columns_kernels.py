"""Held-out kernels of four classes: folds down few long columns, stencils that a loop goes through,
several arrays updated by one kernel, and broadcasts along the slow axis of a block.

Written before the schedules were mended for these classes, in other spellings than those they were
mended on (`cuda_rewrites_kernels.py`, `triton_plain_kernels.py` and the tests). What a schedule was
changed for since is SEEN, and held out no more. Each has beside it what a person who has torch
writes."""

from __future__ import annotations

from collections.abc import Mapping

from cuda_rewrites_kernels import Kernel
from triton_plain_kernels import PlainKernel

SEEN = frozenset({"heat through a slab, y in a loop"})
TALL = {"rows": {"min": 2, "max": 1 << 18}, "cols": {"min": 1, "max": 128}}
SLAB = {
    "nx": {"min": 3, "max": 512},
    "ny": {"min": 3, "max": 512},
    "nz": {"min": 3, "max": 128},
}

CUDA: Mapping[str, tuple[Kernel, str]] = {
    "energy of each channel": (
        Kernel(
            "columns",
            'extern "C" __global__ void f(const float* x, float* energy, int rows, int cols) {'
            " const int c = threadIdx.x + blockDim.x * blockIdx.x; if (c < cols) {"
            " const float* p = x + c; float e = 0.f; int left = rows;"
            " while (left-- > 0) { e += *p * *p; p += cols; } energy[c] = sqrtf(e / rows); } }",
            {"x": "input float32 rows, cols", "energy": "output float32 cols", "rows": "int32",
             "cols": "int32"},
            {"grid": ["cdiv(cols, 64)"], "block": [64]}, TALL,
        ),
        "x.square().mean(0).sqrt()",
    ),
    "least and greatest of each channel": (
        Kernel(
            "columns, two outputs",
            'extern "C" __global__ void f(const float* x, float* low, float* high, int rows,'
            " int cols) { int c = blockIdx.x; __shared__ float a[128], b[128];"
            " float lo = x[c], hi = lo; for (int r = threadIdx.x; r < rows; r += 128) {"
            " float v = x[(size_t)r * cols + c]; lo = fminf(lo, v); hi = fmaxf(hi, v); }"
            " a[threadIdx.x] = lo; b[threadIdx.x] = hi; __syncthreads();"
            " for (int s = 64; s > 0; s >>= 1) { if (threadIdx.x < s) {"
            " a[threadIdx.x] = fminf(a[threadIdx.x], a[threadIdx.x + s]);"
            " b[threadIdx.x] = fmaxf(b[threadIdx.x], b[threadIdx.x + s]); } __syncthreads(); }"
            " if (threadIdx.x == 0) { low[c] = a[0]; high[c] = b[0]; } }",
            {"x": "input float32 rows, cols", "low": "output float32 cols",
             "high": "output float32 cols", "rows": "int32", "cols": "int32"},
            {"grid": ["cols"], "block": [128]}, TALL,
        ),
        "torch.aminmax(x, dim=0)",
    ),
    "heat through a slab, y in a loop": (
        Kernel(
            "stencil",
            'extern "C" __global__ void f(const float* __restrict__ t, float* __restrict__ next,'
            " int nx, int ny, int nz) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
            " int k = blockIdx.y * blockDim.y + threadIdx.y; if (i == 0 || i >= nx - 1 || k == 0"
            " || k >= nz - 1) return; const int plane = nx * ny;"
            " for (int j = 1; j <= ny - 2; j++) { const float* p = t + k * plane + j * nx + i;"
            " next[k * plane + j * nx + i] = p[0] + 0.1f * (p[-1] + p[1] + p[-nx] + p[nx]"
            " + p[-plane] + p[plane] - 6.0f * p[0]); } }",
            {"t": "input float32 nz, ny, nx", "next": "inout float32 nz, ny, nx", "nx": "int32",
             "ny": "int32", "nz": "int32"},
            {"grid": ["cdiv(nx, 32)", "cdiv(nz, 8)"], "block": [32, 8]}, SLAB,
        ),
        "((v := t[1:-1, 1:-1, 1:-1]), next[1:-1, 1:-1, 1:-1].copy_(v + 0.1 * (t[1:-1, 1:-1, :-2]"
        " + t[1:-1, 1:-1, 2:] + t[1:-1, :-2, 1:-1] + t[1:-1, 2:, 1:-1] + t[:-2, 1:-1, 1:-1]"
        " + t[2:, 1:-1, 1:-1] - 6 * v)), next)[2]",
    ),
    "moments of each bin": (
        Kernel(
            "scatter, three arrays",
            'extern "C" __global__ void f(const int* bin, const float* v, int* count, float* sum,'
            " float* square, int n) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;"
            " i += blockDim.x * gridDim.x) { const int b = bin[i]; const float w = v[i];"
            " atomicAdd(count + b, 1); atomicAdd(sum + b, w); atomicAdd(square + b, w * w); } }",
            {"bin": "input int32 n", "v": "input float32 n", "count": "inout int32 100",
             "sum": "inout float32 100", "square": "inout float32 100", "n": "int32"},
            {"grid": ["cdiv(n, 1024)"], "block": [256]},
        ),
        "(count.add_(torch.bincount(bin, minlength=100).int()), sum.index_add_(0, bin, v),"
        " square.index_add_(0, bin, v * v))",
    ),
}  # fmt: skip

_X = {"name": "x", "role": "input", "dtype": "float32", "shape": ["rows", "cols"]}
_SIZES = tuple(
    {"name": n, "role": "scalar", "dtype": "int32", "value": n} for n in ("rows", "cols")
)
_OF_COLUMNS = {"role": "output", "dtype": "float32", "shape": ["cols"]}

TRITON: Mapping[str, tuple[PlainKernel, str]] = {
    "means_of_tall_columns": (
        PlainKernel(
            "means",
            """\
@triton.jit
def means_kernel(x_ptr, mean_ptr, M, N, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for m in range(M):
        acc += tl.load(x_ptr + m * N + cols, mask=cols < N, other=0.0)
    tl.store(mean_ptr + cols, acc / M, mask=cols < N)


def means(x):
    M, N = x.shape
    mean = torch.empty((N,), device=x.device, dtype=torch.float32)
    grid = (triton.cdiv(N, 32),)
    means_kernel[grid](x, mean, M, N, BLOCK_N=32)
    return mean
""",
            (_X, {**_OF_COLUMNS, "name": "mean"}),
            {"rows": 1 << 18, "cols": 128},
            "def reference(x):\n    return x.mean(axis=0)\n",
        ),
        "x.mean(0)",
    ),
    "least_of_columns_in_tiles": (
        PlainKernel(
            "least",
            """\
@triton.jit
def least_kernel(src, dst, rows, cols, BM: tl.constexpr, BN: tl.constexpr):
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    low = tl.full((BN,), float("inf"), tl.float32)
    for start in range(0, tl.cdiv(rows, BM)):
        r = start * BM + tl.arange(0, BM)
        inside = (r[:, None] < rows) & (c[None, :] < cols)
        tile = tl.load(src + r[:, None] * cols + c[None, :], mask=inside, other=float("inf"))
        low = tl.minimum(low, tl.min(tile, axis=0))
    tl.store(dst + c, low, mask=c < cols)


def least(x):
    out = torch.empty_like(x[0])
    least_kernel[(triton.cdiv(x.shape[1], 16),)](x, out, x.shape[0], x.shape[1], BM=8, BN=16)
    return out
""",
            (_X, {**_OF_COLUMNS, "name": "low"}),
            {"rows": 8192, "cols": 4096},
            "def reference(x):\n    return x.min(axis=0)\n",
        ),
        "x.amin(0)",
    ),
    "gate_of_columns": (
        PlainKernel(
            "gated",
            """\
@triton.jit
def gated(x, gate, y, rows, cols, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    r = tl.program_id(1)
    at = c * rows + r
    g = tl.load(gate + r)
    v = tl.load(x + at, mask=c < cols)
    tl.store(y + at, v * tl.sigmoid(g), mask=c < cols)
""",
            (
                {**_X, "shape": ["cols", "rows"]},
                {"name": "gate", "role": "input", "dtype": "float32", "shape": ["rows"]},
                {**_X, "name": "y", "role": "output", "shape": ["cols", "rows"]},
                *_SIZES,
            ),
            {"rows": 4096, "cols": 4096},
            "def reference(x, gate, rows, cols):\n    return x / (1 + np.exp(-gate))\n",
            {"grid": ["cdiv(cols, 128)", "rows"], "constexprs": {"B": 128}},
        ),
        "x * torch.sigmoid(gate)",
    ),
}
