"""CUDA kernels whose threads work together, for `lifting.py`, of the kinds that public collections
have (Rodinia, PolyBench-GPU, HeCBench, KernelBench), each written here, with numpy that says what
it computes. The reader was developed on TOGETHER. TOGETHER_HELD_OUT was written when the reader was
done; its first run showed two faults, which were mended (docs/lifting.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lifting_kernels import COLS, ROWS, Array

Means = Callable[[Array, Array], Array]
HEAD = (
    'extern "C" __global__ void f(const float* a, const float* b, float* y, int n, int rows, '
    "int cols) "
)
_WARP = (
    "__device__ float warp_sum(float v) { for (int o = 16; o > 0; o >>= 1) "
    "v += __shfl_down_sync(0xffffffffu, v, o); return v; }\n"
    "__device__ float warp_max(float v) { for (int o = 16; o > 0; o >>= 1) "
    "v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, o)); return v; }\n"
)
_TREE = (
    "__device__ float tree(float* s, int t) { __syncthreads(); for (int q = blockDim.x / 2; q > 0; "
    "q >>= 1) { if (t < q) s[t] += s[t + q]; __syncthreads(); } return s[0]; }\n"
)


@dataclass(frozen=True)
class Together:
    """A kernel over inputs `a` and `b` (rows x cols) and output `y` as large."""

    source: str
    block: tuple[int, ...]
    grid: tuple[int, ...]
    means: Means
    """the first elements of `y`, from `a` and `b` in float64"""


def _row_block(work: str, means: Means, head: str = "", block: int = 64) -> Together:
    body = "{ __shared__ float sh[64]; int t = threadIdx.x, r = blockIdx.x; " + work + " }"
    return Together(head + HEAD + body, (block,), (ROWS,), means)


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


_EACH = "for (int j = t; j < cols; j += blockDim.x) "
TOGETHER = {
    "row_sum_tree": _row_block(
        f"float s = 0; {_EACH} s += a[r * cols + j]; sh[t] = s; s = tree(sh, t); "
        "if (t == 0) y[r] = s;",
        lambda a, b: a.sum(1),
        _TREE,
    ),
    "row_mean_shuffles": _row_block(
        f"float s = 0; {_EACH} s += a[r * cols + j]; s = warp_sum(s); if (t == 0) y[r] = s / cols;",
        lambda a, b: a.mean(1),
        _WARP,
        32,
    ),
    "row_max_two_levels": _row_block(
        f"float s = -1e30f; {_EACH} s = fmaxf(s, a[r * cols + j]); s = warp_max(s); "
        "if (t % 32 == 0) sh[t / 32] = s; __syncthreads(); "
        "s = t < blockDim.x / 32 ? sh[t] : -1e30f; s = warp_max(s); if (t == 0) y[r] = s;",
        lambda a, b: a.max(1),
        _WARP,
    ),
    "layer_norm": _row_block(
        f"float s = 0; {_EACH} s += a[r * cols + j]; sh[t] = s; float mean = tree(sh, t) / cols; "
        f"__syncthreads(); s = 0; {_EACH} {{ float d = a[r * cols + j] - mean; s += d * d; }} "
        "sh[t] = s; float scale = rsqrtf(tree(sh, t) / cols + 1e-5f); "
        f"{_EACH} y[r * cols + j] = (a[r * cols + j] - mean) * scale;",
        lambda a, b: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5),
        _TREE,
    ),
    "softmax_block": _row_block(
        f"float m = -1e30f; {_EACH} m = fmaxf(m, a[r * cols + j]); m = warp_max(m); "
        f"float s = 0; {_EACH} s += expf(a[r * cols + j] - m); s = warp_sum(s); "
        f"s = __shfl_sync(0xffffffffu, s, 0); {_EACH} y[r * cols + j] = "
        "expf(a[r * cols + j] - m) / s;",
        lambda a, b: _softmax(a),
        _WARP,
        32,
    ),
    "sum_of_all": Together(
        _TREE + HEAD + "{ __shared__ float sh[32]; int t = threadIdx.x; float s = 0; "
        "for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) s += a[i]; "
        "sh[t] = s; s = tree(sh, t); if (t == 0) atomicAdd(y, s); }",
        (32,),
        (2,),
        lambda a, b: a.sum(keepdims=True).ravel(),
    ),
    "gram_tiled": Together(
        HEAD + "{ __shared__ float p[8][8], q[8][8]; int x = threadIdx.x, z = threadIdx.y, "
        "r = blockIdx.y * 8 + z, c = blockIdx.x * 8 + x; float s = 0; "
        "for (int t = 0; t < (cols + 7) / 8; ++t) { "
        "p[z][x] = r < rows && t * 8 + x < cols ? a[r * cols + t * 8 + x] : 0.0f; "
        "q[z][x] = c < rows && t * 8 + z < cols ? b[c * cols + t * 8 + z] : 0.0f; "
        "__syncthreads(); for (int k = 0; k < 8; ++k) s += p[z][k] * q[k][x]; __syncthreads(); } "
        "if (r < rows && c < rows) y[r * rows + c] = s; }",
        (8, 8),
        (1, 1),
        lambda a, b: a @ b.T,
    ),
    "transpose_tiled": Together(
        HEAD + "{ __shared__ float t[8][9]; int x = blockIdx.x * 8 + threadIdx.x, "
        "z = blockIdx.y * 8 + threadIdx.y; if (x < cols && z < rows) "
        "t[threadIdx.y][threadIdx.x] = a[z * cols + x]; __syncthreads(); "
        "x = blockIdx.y * 8 + threadIdx.x; z = blockIdx.x * 8 + threadIdx.y; "
        "if (x < rows && z < cols) y[z * rows + x] = t[threadIdx.x][threadIdx.y]; }",
        (8, 8),
        (2, 1),
        lambda a, b: a.T,
    ),
    "stencil_halo": Together(
        HEAD + "{ __shared__ float t[34]; int g = blockIdx.x * 32 + threadIdx.x, "
        "l = threadIdx.x + 1; t[l] = g < n ? a[g] : 0; "
        "if (threadIdx.x == 0) t[0] = g > 0 ? a[g - 1] : 0; "
        "if (threadIdx.x == 31) t[33] = g + 1 < n ? a[g + 1] : 0; __syncthreads(); "
        "if (g < n) y[g] = t[l - 1] + t[l] + t[l + 1]; }",
        (32,),
        (2,),
        lambda a, b: np.convolve(a.ravel(), [1, 1, 1], "same"),
    ),
    "rows_by_warps": Together(
        _WARP + HEAD + "{ int r = blockIdx.x * blockDim.y + threadIdx.y; if (r >= rows) return; "
        "float s = 0; for (int j = threadIdx.x; j < cols; j += 32) "
        "s += a[r * cols + j] * b[r * cols + j]; s = warp_sum(s); "
        "if (threadIdx.x == 0) y[r] = s; }",
        (32, 4),
        (2,),
        lambda a, b: (a * b).sum(1),
    ),
}
TOGETHER_HELD_OUT = {
    "column_sum_2d": Together(
        HEAD + "{ __shared__ float s[4][32]; int c = blockIdx.x * 32 + threadIdx.x; float v = 0; "
        "if (c < cols) for (int r = threadIdx.y; r < rows; r += 4) v += a[r * cols + c]; "
        "s[threadIdx.y][threadIdx.x] = v; __syncthreads(); if (threadIdx.y == 0 && c < cols) { "
        "for (int k = 1; k < 4; ++k) v += s[k][threadIdx.x]; y[c] = v; } }",
        (32, 4),
        (1,),
        lambda a, b: a.sum(0),
    ),
    "rms_norm_block": _row_block(
        f"float s = 0; {_EACH} {{ float v = a[r * cols + j]; s += v * v; }} s = warp_sum(s); "
        "__shared__ float total; if (t == 0) total = rsqrtf(s / cols + 1e-6f); __syncthreads(); "
        f"{_EACH} y[r * cols + j] = a[r * cols + j] * total * b[j];",
        lambda a, b: a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-6) * b.ravel()[:COLS],
        _WARP,
        32,
    ),
    "row_min_doubling": _row_block(
        f"float s = 1e30f; {_EACH} s = fminf(s, a[r * cols + j]); sh[t] = s; __syncthreads(); "
        "for (int q = 1; q < blockDim.x; q <<= 1) { if ((t & (2 * q - 1)) == 0) "
        "sh[t] = fminf(sh[t], sh[t + q]); __syncthreads(); } if (t == 0) y[r] = sh[0];",
        lambda a, b: a.min(1),
    ),
    "dot_of_all": Together(
        _WARP + HEAD + "{ float s = 0; int i = blockIdx.x * blockDim.x + threadIdx.x; "
        "if (i < n) s = a[i] * b[i]; s = warp_sum(s); if ((threadIdx.x & 31) == 0) "
        "atomicAdd(y, s); }",
        (32,),
        (2,),
        lambda a, b: (a * b).sum(keepdims=True).ravel(),
    ),
    "prefix_in_block": Together(
        HEAD + "{ __shared__ float s[2][16]; int t = threadIdx.x, r = blockIdx.x, out = 0; "
        "s[0][t] = t < cols ? a[r * cols + t] : 0; __syncthreads(); "
        "for (int q = 1; q < 16; q <<= 1) { out = 1 - out; s[out][t] = t >= q ? "
        "s[1 - out][t] + s[1 - out][t - q] : s[1 - out][t]; __syncthreads(); } "
        "if (t < cols) y[r * cols + t] = s[out][t]; }",
        (16,),
        (ROWS,),
        lambda a, b: a.cumsum(1),
    ),
    "reverse_in_shared": Together(
        HEAD + "{ __shared__ float s[16]; int t = threadIdx.x, r = blockIdx.x; "
        "if (t < cols) s[t] = a[r * cols + t]; __syncthreads(); "
        "if (t < cols) y[r * cols + t] = s[cols - 1 - t]; }",
        (16,),
        (ROWS,),
        lambda a, b: a[:, ::-1],
    ),
    "histogram_of_signs": Together(
        HEAD + "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) "
        "atomicAdd(&y[a[i] > 0 ? 1 : 0], 1.0f); }",
        (32,),
        (2,),
        lambda a, b: np.array([(a <= 0).sum(), (a > 0).sum()]),
    ),
    "argmax_block": _row_block(
        "__shared__ int at[64]; float m = -1e30f; int w = 0; "
        f"{_EACH} if (a[r * cols + j] > m) {{ m = a[r * cols + j]; w = j; }} "
        "sh[t] = m; at[t] = w; __syncthreads(); for (int q = blockDim.x / 2; q > 0; q >>= 1) { "
        "if (t < q && sh[t + q] > sh[t]) { sh[t] = sh[t + q]; at[t] = at[t + q]; } "
        "__syncthreads(); } if (t == 0) y[r] = at[0];",
        lambda a, b: a.argmax(1),
    ),
    "matvec_tile": Together(
        HEAD + "{ __shared__ float v[8]; int r = blockIdx.x * 8 + threadIdx.x; float s = 0; "
        "for (int t = 0; t < cols; t += 8) { v[threadIdx.x] = t + threadIdx.x < cols ? "
        "b[t + threadIdx.x] : 0.0f; __syncthreads(); for (int k = 0; k < 8; ++k) "
        "if (r < rows && t + k < cols) s += a[r * cols + t + k] * v[k]; __syncthreads(); } "
        "if (r < rows) y[r] = s; }",
        (8,),
        (1,),
        lambda a, b: a @ b.ravel()[:COLS],
    ),
    "log_softmax_warp": Together(
        _WARP + HEAD + "{ int r = blockIdx.x, t = threadIdx.x; float m = -1e30f, s = 0; "
        "for (int j = t; j < cols; j += 32) m = fmaxf(m, a[r * cols + j]); m = warp_max(m); "
        "for (int j = t; j < cols; j += 32) s += expf(a[r * cols + j] - m); "
        "for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(~0u, s, o); s = logf(s); "
        "for (int j = t; j < cols; j += 32) y[r * cols + j] = a[r * cols + j] - m - s; }",
        (32,),
        (ROWS,),
        lambda a, b: np.log(_softmax(a)),
    ),
}
