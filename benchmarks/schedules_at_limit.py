"""CUDA kernels that are at the limit of memory already: a search that tells a gain of more than a
few hundredths on one of them tells a false one, or the kernel was not as good as was thought."""

from __future__ import annotations

from collections.abc import Mapping

from cuda_rewrites_kernels import Kernel

FOURS = {"n": {"min": 4, "max": 1 << 25, "multiple_of": 4}}
EIGHTS = {"n": {"min": 8, "max": 1 << 26, "multiple_of": 8}}
ROWS_OF_FOURS = {
    "rows": {"min": 1, "max": 65536},
    "cols": {"min": 4, "max": 4096, "multiple_of": 4},
}
A_FOUR = {"grid": ["cdiv(n, 1024)"], "block": [256]}
A_WARP = {"grid": ["cdiv(rows, 8)"], "block": [32, 8]}
A_BLOCK = {"grid": ["rows"], "block": [256]}
_I = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n / 4) return;"
_TEAM = (
    "template <bool GREATEST> __device__ float over_block(float v) { __shared__ float part[8];"
    " for (int o = 16; o; o >>= 1) { float w = __shfl_xor_sync(~0u, v, o);"
    " v = GREATEST ? fmaxf(v, w) : v + w; }"
    " if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v; __syncthreads(); v = part[0];"
    " for (int k = 1; k < 8; ++k) v = GREATEST ? fmaxf(v, part[k]) : v + part[k];"
    " return v; }\n"
)
_HELD = (
    "int quads = cols / 4; const float4* row = (const float4*)x + (size_t)blockIdx.x * quads;"
    " float4* to = (float4*)y + (size_t)blockIdx.x * quads; float4 held[4];"
)
_EACH = "\n#pragma unroll\nfor (int k = 0; k < 4; ++k) if (threadIdx.x + 256 * k < quads)"
MATRIX = {
    "x": "input float32 rows, cols",
    "y": "output float32 rows, cols",
    "rows": "int32",
    "cols": "int32",
}

AT_LIMIT: Mapping[str, Kernel] = {
    "copy by fours": Kernel(
        "at the limit",
        f'extern "C" __global__ void f(const float4* x, float4* y, int n) {{ {_I} y[i] = x[i]; }}',
        {"x": "input float32 n", "y": "output float32 n", "n": "int32"},
        A_FOUR, FOURS,
    ),
    "a vector times a number added to another, by fours": Kernel(
        "at the limit",
        f'extern "C" __global__ void f(const float4* x, float4* y, int n, float a) {{ {_I}'
        " float4 u = x[i], v = y[i]; v.x += a * u.x; v.y += a * u.y; v.z += a * u.z;"
        " v.w += a * u.w; y[i] = v; }",
        {"x": "input float32 n", "y": "inout float32 n", "n": "int32", "a": "float32=0.3"},
        A_FOUR, FOURS,
    ),
    "transpose by padded tiles": Kernel(
        "at the limit",
        'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {'
        " __shared__ float tile[32][33]; int c = blockIdx.x * 32 + threadIdx.x,"
        " r = blockIdx.y * 32 + threadIdx.y; for (int k = 0; k < 32; k += 8)"
        " if (c < cols && r + k < rows) tile[threadIdx.y + k][threadIdx.x] ="
        " x[(size_t)(r + k) * cols + c]; __syncthreads(); c = blockIdx.y * 32 + threadIdx.x;"
        " r = blockIdx.x * 32 + threadIdx.y; for (int k = 0; k < 32; k += 8)"
        " if (c < rows && r + k < cols) y[(size_t)(r + k) * rows + c] ="
        " tile[threadIdx.x][threadIdx.y + k]; }",
        {**MATRIX, "y": "output float32 cols, rows"},
        {"grid": ["cdiv(cols, 32)", "cdiv(rows, 32)"], "block": [32, 8]}, ROWS_OF_FOURS,
    ),
    "sums of rows, a warp a row, by fours": Kernel(
        "at the limit",
        'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {'
        " int r = blockIdx.x * 8 + threadIdx.y; if (r >= rows) return; const float4* row ="
        " (const float4*)x + (size_t)r * (cols / 4); float s = 0.f;"
        " for (int j = threadIdx.x; j < cols / 4; j += 32) { float4 v = row[j];"
        " s += (v.x + v.y) + (v.z + v.w); } for (int o = 16; o; o >>= 1)"
        " s += __shfl_xor_sync(~0u, s, o); if (threadIdx.x == 0) y[r] = s; }",
        {**MATRIX, "y": "output float32 rows"},
        A_WARP, ROWS_OF_FOURS,
    ),
    "root mean square norm, the row held, by fours": Kernel(
        "at the limit",
        _TEAM + 'extern "C" __global__ void f(const float* x, const float4* w, float* y, int rows,'
        f" int cols) {{ {_HELD} float q = 0.f; {_EACH} {{ float4 v = held[k] ="
        " row[threadIdx.x + 256 * k]; q += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w; }"
        " float s = rsqrtf(over_block<false>(q) / cols + 1e-6f);"
        f" {_EACH} {{ float4 v = held[k], g = w[threadIdx.x + 256 * k];"
        " to[threadIdx.x + 256 * k] = make_float4(v.x * s * g.x, v.y * s * g.y, v.z * s * g.z,"
        " v.w * s * g.w); } }",
        {"x": MATRIX["x"], "w": "input float32 cols", "y": MATRIX["y"], "rows": "int32",
         "cols": "int32"},
        A_BLOCK, ROWS_OF_FOURS,
    ),
    "softmax, the row held, by fours": Kernel(
        "at the limit",
        _TEAM + 'extern "C" __global__ void f(const float* x, float* y, int rows, int cols) {'
        f" {_HELD} float m = -3.4e38f; {_EACH} {{ float4 v = held[k] = row[threadIdx.x + 256 * k];"
        " m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w))); } m = over_block<true>(m);"
        f" float s = 0.f; {_EACH} {{ float4 v = held[k]; v.x = __expf(v.x - m);"
        " v.y = __expf(v.y - m); v.z = __expf(v.z - m); v.w = __expf(v.w - m);"
        " s += (v.x + v.y) + (v.z + v.w); held[k] = v; } s = 1.f / over_block<false>(s);"
        f" {_EACH} {{ float4 v = held[k]; to[threadIdx.x + 256 * k] ="
        " make_float4(v.x * s, v.y * s, v.z * s, v.w * s); } }",
        MATRIX,
        A_BLOCK, ROWS_OF_FOURS,
    ),
    "rows of a table, a warp a row, by fours": Kernel(
        "at the limit",
        'extern "C" __global__ void f(const float* table, const int* at, float* y, int rows,'
        " int cols) { int r = blockIdx.x * 8 + threadIdx.y; if (r >= rows) return;"
        " const float4* from = (const float4*)table + (size_t)at[r] * (cols / 4);"
        " float4* to = (float4*)y + (size_t)r * (cols / 4);"
        " for (int j = threadIdx.x; j < cols / 4; j += 32) to[j] = from[j]; }",
        {"table": "input float32 20000, cols", "at": "input int32 rows", "y": MATRIX["y"],
         "rows": "int32", "cols": "int32"},
        A_WARP, ROWS_OF_FOURS, {"at": 20000},
    ),
    "sum of halves, eight a thread": Kernel(
        "at the limit",
        "#include <cuda_fp16.h>\n"
        'extern "C" __global__ void f(const uint4* a, const uint4* b, uint4* y, int n) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n / 8) return;"
        " uint4 u = a[i], v = b[i]; __half2* p = (__half2*)&u; const __half2* q ="
        " (const __half2*)&v; for (int k = 0; k < 4; ++k) p[k] = __hadd2(p[k], q[k]); y[i] = u; }",
        {"a": "input float16 n", "b": "input float16 n", "y": "output float16 n", "n": "int32"},
        {"grid": ["cdiv(n, 2048)"], "block": [256]}, EIGHTS,
    ),
}  # fmt: skip
