"""Kernels whose threads work together on one block, and what each is lifted to.

All take (a, b, y, n, rows, cols); `block`: threads along x and y.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.analysis.lift import Argument

HEAD = (
    'extern "C" __global__ void f(const float* a, const float* b, float* y, int n, int rows, '
    "int cols) "
)
ARGUMENTS = (
    *(Argument(name, "float32", array=True) for name in "aby"),
    *(Argument(name, "int32", array=False) for name in ("n", "rows", "cols")),
)
_SUM = "for (int j = tid; j < cols; j += blockDim.x) s += a[blockIdx.x * cols + j]; "
_ROW = HEAD + (
    "{ __shared__ float sh[128]; int tid = threadIdx.x; float s = 0; "
    + _SUM
    + "sh[tid] = s; __syncthreads(); "
)
_FIRST = "if (tid == 0) y[blockIdx.x] = sh[0]; }"
_WARP = (
    "__inline__ __device__ float all(float v) { for (int o = 16; o > 0; o /= 2) "
    "v += __shfl_down_sync(0xffffffffu, v, o); return v; }\n"
)


@dataclass(frozen=True)
class Together:
    """A kernel, its block, and the text of its lift."""

    source: str
    block: tuple[int, ...]
    text: str


ROW_SUM = "for all i < nctaid.x:\n  y[i] = sum(k1 < cols: a[cols*i + k1]; from 0)\n"
TREES = {
    "a stride that halves": _ROW
    + "for (int q = blockDim.x / 2; q > 0; q >>= 1) { if (tid < q) sh[tid] += sh[tid + q]; "
    "__syncthreads(); } " + _FIRST,
    "a stride that doubles": _ROW
    + "for (int q = 1; q < blockDim.x; q *= 2) { if (tid % (2 * q) == 0) sh[tid] += sh[tid + q]; "
    "__syncthreads(); } " + _FIRST,
    "places beside each other": _ROW
    + "for (int q = 1; q < blockDim.x; q *= 2) { int at = 2 * q * tid; if (at < blockDim.x) "
    "sh[at] += sh[at + q]; __syncthreads(); } " + _FIRST,
    "a last warp written out": _ROW
    + "if (tid < 64) sh[tid] += sh[tid + 64]; __syncthreads(); if (tid < 32) { "
    "volatile float* v = sh; v[tid] += v[tid + 32]; v[tid] += v[tid + 16]; v[tid] += v[tid + 8]; "
    "v[tid] += v[tid + 4]; v[tid] += v[tid + 2]; v[tid] += v[tid + 1]; } " + _FIRST,
    "one thread at the end": _ROW
    + "if (tid == 0) { float t = 0; for (int q = 0; q < blockDim.x; ++q) t += sh[q]; "
    "y[blockIdx.x] = t; } }",
    "warps, then one warp": _WARP
    + HEAD
    + "{ __shared__ float sh[32]; int tid = threadIdx.x, lane = tid % 32, w = tid / 32; "
    "float s = 0; " + _SUM + "s = all(s); if (lane == 0) sh[w] = s; __syncthreads(); "
    "s = tid < blockDim.x / 32 ? sh[lane] : 0.0f; if (w == 0) s = all(s); "
    "if (tid == 0) y[blockIdx.x] = s; }",
}
"""one sum of rows by a block of 128 threads each"""
KERNELS = {
    "a sum of everything by atomics": Together(
        _WARP + HEAD + "{ float s = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; "
        "i += blockDim.x * gridDim.x) s += a[i]; s = all(s); "
        "if (threadIdx.x % 32 == 0) atomicAdd(y, s); }",
        (32,),
        "once:\n  y[0] add= sum(k1 < n: a[k1]; from 0)\n",
    ),
    "a warp for each row": Together(
        HEAD + "{ int row = blockIdx.x * blockDim.y + threadIdx.y; if (row >= rows) return; "
        "float s = -1e30f; for (int j = threadIdx.x; j < cols; j += 32) "
        "s = fmaxf(s, a[row * cols + j]); for (int o = 16; o; o >>= 1) "
        "s = fmaxf(s, __shfl_xor_sync(~0u, s, o)); if (threadIdx.x == 0) y[row] = s; }",
        (32, 4),
        "for all j < rows:\n  y[j] = max(k1 < cols: a[cols*j + k1]; from -1.00000002e+30)\n",
    ),
    "a product of matrices in tiles": Together(
        HEAD + "{ __shared__ float p[16][16], q[16][16]; int x = threadIdx.x, z = threadIdx.y, "
        "r = blockIdx.y * 16 + z, c = blockIdx.x * 16 + x; float s = 0; "
        "for (int t = 0; t < (n + 15) / 16; ++t) { "
        "p[z][x] = r < rows && t * 16 + x < n ? a[r * n + t * 16 + x] : 0.0f; "
        "q[z][x] = t * 16 + z < n && c < cols ? b[(t * 16 + z) * cols + c] : 0.0f; "
        "__syncthreads(); for (int k = 0; k < 16; ++k) s += p[z][k] * q[k][x]; __syncthreads(); } "
        "if (r < rows && c < cols) y[r * cols + c] = s; }",
        (16, 16),
        "for all j < rows, i < cols:\n"
        "  y[cols*j + i] = sum(k1 < n: a[j*n + k1] * b[cols*k1 + i]; from 0)\n",
    ),
    "a transpose in tiles": Together(
        HEAD + "{ __shared__ float t[32][33]; int x = blockIdx.x * 32 + threadIdx.x, "
        "z = blockIdx.y * 32 + threadIdx.y; for (int j = 0; j < 32; j += 8) "
        "if (x < cols && z + j < rows) t[threadIdx.y + j][threadIdx.x] = a[(z + j) * cols + x]; "
        "__syncthreads(); x = blockIdx.y * 32 + threadIdx.x; z = blockIdx.x * 32 + threadIdx.y; "
        "for (int j = 0; j < 32; j += 8) if (x < rows && z + j < cols) "
        "y[(z + j) * rows + x] = t[threadIdx.x][threadIdx.y + j]; }",
        (32, 8),
        "for all j < cols, i < rows:\n  y[j*rows + i] = a[cols*i + j]\n",
    ),
    "three points with a halo": Together(
        HEAD + "{ __shared__ float t[34]; int g = blockIdx.x * blockDim.x + threadIdx.x, "
        "l = threadIdx.x + 1; t[l] = g < n ? a[g] : 0; "
        "if (threadIdx.x == 0) t[0] = g > 0 ? a[g - 1] : 0; "
        "if (threadIdx.x == 31) t[33] = g + 1 < n ? a[g + 1] : 0; __syncthreads(); "
        "if (g < n) y[g] = t[l - 1] + t[l] + t[l + 1]; }",
        (32,),
        "for all i < n:\n"
        "  y[i] = (select(i <= 0, 0, a[i - 1]) + a[i]) + select((i + 1) >= n, 0, a[i + 1])\n",
    ),
    "a softmax by a warp for each row": Together(
        _WARP + HEAD + "{ int r = blockIdx.x, t = threadIdx.x; float m = -1e30f, s = 0; "
        "for (int j = t; j < cols; j += 32) m = fmaxf(m, a[r * cols + j]); "
        "for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o)); "
        "for (int j = t; j < cols; j += 32) s += expf(a[r * cols + j] - m); s = all(s); "
        "__shared__ float total; if (t == 0 && cols > 0) total = s; __syncthreads(); "
        "for (int j = t; j < cols; j += 32) y[r * cols + j] = "
        "expf(a[r * cols + j] - m) / total; }",
        (32,),
        "for all i < nctaid.x:\n  each k1 < cols:\n"
        "    y[cols*i + k1] = exp(a[cols*i + k1] - max(k2 < cols: a[cols*i + k2]; "
        "from -1.00000002e+30)) / sum(k3 < cols: exp(a[cols*i + k3] - max(k2 < cols: "
        "a[cols*i + k2]; from -1.00000002e+30)); from 0)\n",
    ),
    "a softmax by a block for each row": Together(
        HEAD + "{ __shared__ float sh[64]; int tid = threadIdx.x; const float* row = "
        "a + blockIdx.x * cols; float m = -1e30f; for (int j = tid; j < cols; j += blockDim.x) "
        "m = fmaxf(m, row[j]); sh[tid] = m; __syncthreads(); "
        "for (int s = blockDim.x / 2; s > 0; s >>= 1) { if (tid < s) "
        "sh[tid] = fmaxf(sh[tid], sh[tid + s]); __syncthreads(); } m = sh[0]; __syncthreads(); "
        "float s = 0; for (int j = tid; j < cols; j += blockDim.x) s += expf(row[j] - m); "
        "sh[tid] = s; __syncthreads(); for (int s = blockDim.x / 2; s > 0; s >>= 1) { "
        "if (tid < s) sh[tid] += sh[tid + s]; __syncthreads(); } s = sh[0]; "
        "for (int j = tid; j < cols; j += blockDim.x) y[blockIdx.x * cols + j] = "
        "expf(row[j] - m) / s; }",
        (64,),
        "for all i < nctaid.x:\n  each k1 < cols:\n"
        "    y[cols*i + k1] = exp(a[cols*i + k1] - max(k2 < cols: a[cols*i + k2]; "
        "from -1.00000002e+30)) / sum(k3 < cols: exp(a[cols*i + k3] - max(k2 < cols: "
        "a[cols*i + k2]; from -1.00000002e+30)); from 0)\n",
    ),
}
_EACH = (
    "__inline__ __device__ float each(float v) { for (int o = 16; o > 0; o /= 2) "
    "v += __shfl_xor_sync(0xffffffffu, v, o); return v; }\n"
)
_OF_A_WARP = "for (int j = lane; j < cols; j += 32) s += a[row * cols + j] * b[j]; "
WARPS = {
    "a row each": _WARP
    + HEAD
    + "{ int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32; "
    "if (row >= rows) return; float s = 0; " + _OF_A_WARP + "s = all(s); "
    "if (lane == 0) y[row] = s; }",
    "shifts and masks": _WARP
    + HEAD
    + "{ int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31; "
    "if (row < rows) { float s = 0; " + _OF_A_WARP + "s = all(s); if (!lane) y[row] = s; } }",
    "every lane has the sum": _EACH
    + HEAD
    + "{ int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32; "
    "if (row >= rows) return; float s = 0; " + _OF_A_WARP + "s = each(s); "
    "if (lane == 0) y[row] = s; }",
}
"""of blocks of 128: the same sum"""
WARPS_TEXT = "for all j < rows:\n  y[j] = sum(k1 < cols: a[cols*j + k1] * b[k1]; from 0)\n"
SHARED_BY_LANES = (
    _EACH + HEAD + "{ int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32; "
    "if (row >= rows) return; float s = 0; for (int j = lane; j < cols; j += 32) "
    "s += a[row * cols + j]; s = each(s); for (int j = lane; j < cols; j += 32) "
    "y[row * cols + j] = a[row * cols + j] / s; }"
)
"""a row by the lanes of a warp, which all need what they have summed up"""
