"""Plain CUDA kernels of many classes for `cuda_rewrites.py`: several outputs, short and long types,
constant tables, arrays updated in place, reductions to few outputs, histograms, stencils.

FIRST was written before anybody looked at what schedules do with its kernels, and schedules were
then mended for their classes: its first table is held out, its later ones are not. SECOND was
written when that work was done, and no schedule was changed for one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROWS = {"rows": {"min": 1, "max": 16384}, "cols": {"min": 1, "max": 4096}}
FLAT = {"n": {"min": 1, "max": 1 << 24}}
A_THREAD = {"grid": ["cdiv(n, 256)"], "block": [256]}
A_ROW = {"grid": ["cdiv(rows, 128)"], "block": [128]}
A_BLOCK = {"grid": ["rows"], "block": [256]}
CELLS = {"grid": ["cdiv(cols, 16)", "cdiv(rows, 16)"], "block": [16, 16]}
_T = "blockIdx.x * blockDim.x + threadIdx.x"
_I = f"int i = {_T}; if (i >= n) return;"
_R = f"int row = {_T}; if (row >= rows) return;"
_XY = (
    f"int c = {_T}, r = blockIdx.y * blockDim.y + threadIdx.y; if (c >= cols || r >= rows) return;"
)
_HALF, _BF16 = "#include <cuda_fp16.h>\n", "#include <cuda_bf16.h>\n"


@dataclass(frozen=True)
class Kernel:
    """A kernel `f`; its arguments in order, an array by `role dtype shape`, a scalar by `dtype` or
    `dtype=value`."""

    family: str
    source: str
    arguments: Mapping[str, str]
    launch: Mapping[str, Any]
    symbols: Mapping[str, Any] = field(default_factory=lambda: dict(FLAT))
    high: Mapping[str, int] = field(default_factory=dict[str, int])
    """where integers of an array end, which are drawn from 0"""

    def spec(self) -> dict[str, Any]:
        """As a spec in JSON."""
        return {
            "name": "f",
            "kernel": {
                "kernel_type": "cuda",
                "source_code": self.source,
                "metadata": {"kernel_name": "f"},
                "plan" if "steps" in self.launch else "launch": dict(self.launch),
            },
            "io": {"arguments": [self._argument(n, each) for n, each in self.arguments.items()]},
            "symbols": dict(self.symbols),
            "workloads": [{"name": "w", "symbols": {n: d["max"] for n, d in self.symbols.items()}}],
            "reference": "baseline",
        }

    def _argument(self, name: str, told: str) -> dict[str, Any]:
        words = told.split(" ", 2)
        if len(words) == 1:
            dtype, _, value = told.partition("=")
            number = float(value) if "float" in dtype and value else value or name
            return {"name": name, "role": "scalar", "dtype": dtype, "value": number}
        role, dtype, shape = words
        found: dict[str, Any] = {"name": name, "role": role, "dtype": dtype}
        if "int" in dtype and role == "input":
            found["init"] = {"kind": "randint", "low": 0, "high": self.high.get(name, 100)}
        return {**found, "shape": shape.split(", ")}


FIRST: Mapping[str, Kernel] = {
    "adamw": Kernel(
        "several outputs",
        'extern "C" __global__ void f(float* w, const float* __restrict__ grad, float* m1,'
        " float* m2, int n, float lr, float beta1, float beta2, float eps, float decay, float fix1,"
        f" float fix2) {{ {_I} float g = grad[i]; float a = beta1 * m1[i] + (1.0f - beta1) * g;"
        " float b = beta2 * m2[i] + (1.0f - beta2) * g * g; m1[i] = a; m2[i] = b; a /= fix1;"
        " b /= fix2; w[i] -= lr * (a / (sqrtf(b) + eps) + decay * w[i]); }",
        {"w": "inout float32 n", "grad": "input float32 n", "m1": "inout float32 n",
         "m2": "inout float32 n", "n": "int32", "lr": "float32=0.001", "beta1": "float32=0.9",
         "beta2": "float32=0.99", "eps": "float32=1e-8", "decay": "float32=0.01",
         "fix1": "float32=0.1", "fix2": "float32=0.01"},
        A_THREAD,
    ),
    "layer norm that keeps mean and deviation": Kernel(
        "several outputs",
        'extern "C" __global__ void f(const float* in, const float* gamma, const float* beta,'
        f" float* out, float* mean, float* rstd, int rows, int cols) {{ {_R}"
        " const float* x = in + (size_t)row * cols; float mu = 0; for (int c = 0; c < cols; c++)"
        " mu += x[c]; mu /= cols; float var = 0; for (int c = 0; c < cols; c++)"
        " { float d = x[c] - mu; var += d * d; } var /= cols; float s = 1.0f / sqrtf(var + 1e-5f);"
        " float* y = out + (size_t)row * cols; for (int c = 0; c < cols; c++)"
        " y[c] = s * (x[c] - mu) * gamma[c] + beta[c]; mean[row] = mu; rstd[row] = s; }",
        {"in": "input float32 rows, cols", "gamma": "input float32 cols",
         "beta": "input float32 cols", "out": "output float32 rows, cols",
         "mean": "output float32 rows", "rstd": "output float32 rows", "rows": "int32",
         "cols": "int32"},
        A_ROW, ROWS,
    ),
    "gated unit backwards": Kernel(
        "several outputs",
        "__device__ __forceinline__ float sigma(float v) { return 1.f / (1.f + __expf(-v)); }\n"
        'extern "C" __global__ void f(const float* up, const float* gate, const float* dy,'
        " float* dup, float* dgate, int n) { int step = gridDim.x * blockDim.x;"
        f" for (int i = {_T}; i < n; i += step) {{ float g = gate[i], s = sigma(g), d = dy[i];"
        " dup[i] = d * g * s; dgate[i] = d * up[i] * s * (1.f + g * (1.f - s)); } }",
        {"up": "input float32 n", "gate": "input float32 n", "dy": "input float32 n",
         "dup": "output float32 n", "dgate": "output float32 n", "n": "int32"},
        {"grid": [1056], "block": [256]},
    ),
    "rows to bytes with a scale each": Kernel(
        "several outputs",
        'extern "C" __global__ void f(const float* x, signed char* q, float* scale, int rows,'
        " int cols) { __shared__ float red[256]; int t = threadIdx.x; const float* v = x +"
        " (size_t)blockIdx.x * cols; float top = 0.f; for (int j = t; j < cols; j += 256)"
        " top = fmaxf(top, fabsf(v[j])); red[t] = top; __syncthreads(); for (int s = 128; s > 0;"
        " s /= 2) { if (t < s) red[t] = fmaxf(red[t], red[t + s]); __syncthreads(); }"
        " float k = red[0] / 127.f; if (t == 0) scale[blockIdx.x] = k; for (int j = t; j < cols;"
        " j += 256) q[(size_t)blockIdx.x * cols + j] = (signed char)rintf(v[j] / k); }",
        {"x": "input float32 rows, cols", "q": "output int8 rows, cols",
         "scale": "output float32 rows", "rows": "int32", "cols": "int32"},
        A_BLOCK, ROWS,
    ),
    "greatest value and its place": Kernel(
        "several outputs",
        'extern "C" __global__ void f(const float* x, float* best, long long* where, int rows,'
        f" int cols) {{ {_R} float top = -INFINITY; long long at = 0; for (int c = 0; c < cols;"
        " ++c) { float v = x[(long long)row * cols + c]; if (v > top) { top = v; at = c; } }"
        " best[row] = top; where[row] = at; }",
        {"x": "input float32 rows, cols", "best": "output float32 rows",
         "where": "output int64 rows", "rows": "int32", "cols": "int32"},
        A_ROW, ROWS,
    ),
    "gelu of half pairs": Kernel(
        "types",
        _HALF + 'extern "C" __global__ void f(const __half2* x, __half2* y, int pairs) {'
        f" int i = {_T}; if (i < pairs) {{ float2 v = __half22float2(x[i]); v.x = v.x * 0.5f *"
        " (1.0f + erff(v.x * 0.70710678f)); v.y = v.y * 0.5f * (1.0f + erff(v.y * 0.70710678f));"
        " y[i] = __float22half2_rn(v); } }",
        {"x": "input float16 2*n", "y": "output float16 2*n", "n": "int32"},
        A_THREAD,
    ),
    "residual and root mean square in bfloat16": Kernel(
        "types",
        _BF16 + 'extern "C" __global__ void f(const __nv_bfloat16* x, __nv_bfloat16* res, const'
        f" __nv_bfloat16* w, __nv_bfloat16* y, int rows, int cols) {{ {_R} size_t base ="
        " (size_t)row * cols; float q = 0.f; for (int c = 0; c < cols; ++c) { float v ="
        " __bfloat162float(x[base + c]) + __bfloat162float(res[base + c]); q += v * v; }"
        " float k = rsqrtf(q / cols + 1e-6f); for (int c = 0; c < cols; ++c) { float v ="
        " __bfloat162float(x[base + c]) + __bfloat162float(res[base + c]);"
        " y[base + c] = __float2bfloat16(v * k * __bfloat162float(w[c])); } }",
        {"x": "input bfloat16 rows, cols", "res": "input bfloat16 rows, cols",
         "w": "input bfloat16 cols", "y": "output bfloat16 rows, cols", "rows": "int32",
         "cols": "int32"},
        A_ROW, ROWS,
    ),
    "bytes to half by a scale for each column": Kernel(
        "types",
        _HALF + 'extern "C" __global__ void f(const int8_t* q, const float* scale, __half* y,'
        f" int rows, int cols) {{ {_XY} size_t at = (size_t)r * cols + c;"
        " y[at] = __float2half((float)q[at] * scale[c]); }".replace("int8_t", "signed char"),
        {"q": "input int8 rows, cols", "scale": "input float32 cols",
         "y": "output float16 rows, cols", "rows": "int32", "cols": "int32"},
        CELLS, ROWS,
    ),
    "double: a step along a direction": Kernel(
        "types",
        'extern "C" __global__ void f(double alpha, const double* p, const double* Ap, double* x,'
        " double* r, long n) { long i = (long)blockIdx.x * blockDim.x + threadIdx.x; if (i < n)"
        " { x[i] += alpha * p[i]; r[i] -= alpha * Ap[i]; } }",
        {"alpha": "float64=0.37", "p": "input float64 n", "Ap": "input float64 n",
         "x": "inout float64 n", "r": "inout float64 n", "n": "int64"},
        A_THREAD,
    ),
    "grey of coloured pixels": Kernel(
        "types",
        'extern "C" __global__ void f(const unsigned char* rgb, unsigned char* grey, int n) {'
        f" {_I} grey[i] = (unsigned char)(0.299f * rgb[3 * i] + 0.587f * rgb[3 * i + 1]"
        " + 0.114f * rgb[3 * i + 2] + 0.5f); }",
        {"rgb": "input uint8 3*n", "grey": "output uint8 n", "n": "int32"},
        A_THREAD,
    ),
    "a filter from constant memory": Kernel(
        "constant tables",
        "__constant__ float taps[7];\n"
        f'extern "C" __global__ void f(const float* x, float* y, int n) {{ {_I} float s = 0.f;'
        " for (int k = -3; k <= 3; ++k) { int j = i + k; if (j >= 0 && j < n)"
        " s += taps[k + 3] * x[j]; } y[i] = s; }",
        {"x": "input float32 n", "y": "output float32 n", "n": "int32"},
        {"setup": [{"set": "taps", "dtype": "float32",
                    "value": [0.05, 0.1, 0.2, 0.3, 0.2, 0.1, 0.05]}],
         "steps": [{"launch": "f", **A_THREAD}]},
    ),
    "colours of a palette": Kernel(
        "constant tables",
        "__constant__ float palette[4] = {0.1f, 0.4f, 0.7f, 1.0f};\n"
        f'extern "C" __global__ void f(const int* kind, float* y, int n) {{ {_I}'
        " y[i] = palette[kind[i] & 3] * 255.0f; }",
        {"kind": "input int32 n", "y": "output float32 n", "n": "int32"},
        A_THREAD,
    ),
    "mean of squared differences": Kernel(
        "few outputs",
        'extern "C" __global__ void f(const float* a, const float* b, float* loss, int n) {'
        f" __shared__ float part[256]; int t = threadIdx.x; float s = 0.f; for (int i = {_T};"
        " i < n; i += gridDim.x * blockDim.x) { float d = a[i] - b[i]; s += d * d; } part[t] = s;"
        " __syncthreads(); for (int k = 128; k > 0; k >>= 1) { if (t < k) part[t] += part[t + k];"
        " __syncthreads(); } if (t == 0) atomicAdd(loss, part[0] / n); }",
        {"a": "input float32 n", "b": "input float32 n", "loss": "output float32 1",
         "n": "int32"},
        {"steps": [{"fill": "loss", "pattern": "00000000"},
                   {"launch": "f", "grid": [264], "block": [256]}]},
    ),
    "greatest element, one block": Kernel(
        "few outputs",
        'extern "C" __global__ void f(const float* x, float* y, int n) {'
        " __shared__ float part[1024]; float m = -3.4e38f; for (int i = threadIdx.x; i < n;"
        " i += 1024) m = fmaxf(m, x[i]); part[threadIdx.x] = m; __syncthreads(); for (int k = 512;"
        " k > 0; k >>= 1) { if (threadIdx.x < k) part[threadIdx.x] = fmaxf(part[threadIdx.x],"
        " part[threadIdx.x + k]); __syncthreads(); } if (threadIdx.x == 0) y[0] = part[0]; }",
        {"x": "input float32 n", "y": "output float32 1", "n": "int32"},
        {"grid": [1], "block": [1024]},
    ),
    "gradient of a bias, added to what is there": Kernel(
        "few outputs",
        'extern "C" __global__ void f(float* db, const float* dout, int rows, int cols) {'
        f" int c = {_T}; if (c >= cols) return; double s = 0.0; for (int r = 0; r < rows; r++)"
        " s += dout[(size_t)r * cols + c]; db[c] = (float)(db[c] + s); }",
        {"db": "inout float32 cols", "dout": "input float32 rows, cols", "rows": "int32",
         "cols": "int32"},
        {"grid": ["cdiv(cols, 128)"], "block": [128]}, ROWS,
    ),
    "counts of bytes": Kernel(
        "scatter",
        'extern "C" __global__ void f(const unsigned char* data, unsigned* count, int n) {'
        f" for (int i = {_T}; i < n; i += blockDim.x * gridDim.x) atomicAdd(&count[data[i]], 1u);"
        " }",
        {"data": "input uint8 n", "count": "output uint32 256", "n": "int32"},
        {"steps": [{"fill": "count", "pattern": "00000000"},
                   {"launch": "f", "grid": [264], "block": [256]}]},
        high={"data": 256},
    ),
    "gradient of an embedding": Kernel(
        "scatter",
        'extern "C" __global__ void f(float* dtable, const int* token, const float* dout,'
        f" int rows, int cols) {{ int i = {_T}; if (i >= rows * cols) return; int r = i / cols,"
        " c = i % cols; atomicAdd(dtable + (size_t)token[r] * cols + c, dout[i]); }",
        {"dtable": "inout float32 1000, cols", "token": "input int32 rows",
         "dout": "input float32 rows, cols", "rows": "int32", "cols": "int32"},
        {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}, ROWS, {"token": 1000},
    ),
    "tokens and places of an encoder": Kernel(
        "gather",
        'extern "C" __global__ void f(float* out, const int* token, const float* wte,'
        f" const float* wpe, int rows, int cols) {{ int i = {_T}; if (i < rows * cols) {{"
        " int r = i / cols, c = i % cols, t = r % 256; out[i] = wte[(size_t)token[r] * cols + c]"
        " + wpe[t * cols + c]; } }",
        {"out": "output float32 rows, cols", "token": "input int32 rows",
         "wte": "input float32 1000, cols", "wpe": "input float32 256, cols", "rows": "int32",
         "cols": "int32"},
        {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}, ROWS, {"token": 1000},
    ),
    "heat of a plate with sources": Kernel(
        "stencil",
        'extern "C" __global__ void f(const float* t, const float* power, float* out, int rows,'
        f" int cols, float k) {{ {_XY} int n = max(r - 1, 0), s = min(r + 1, rows - 1),"
        " w = max(c - 1, 0), e = min(c + 1, cols - 1); float m = t[r * cols + c];"
        " out[r * cols + c] = m + k * (power[r * cols + c] + t[n * cols + c] + t[s * cols + c]"
        " + t[r * cols + w] + t[r * cols + e] - 4.0f * m); }",
        {"t": "input float32 rows, cols", "power": "input float32 rows, cols",
         "out": "output float32 rows, cols", "rows": "int32", "cols": "int32",
         "k": "float32=0.1"},
        CELLS, ROWS,
    ),
    "softmax backwards": Kernel(
        "rows",
        'extern "C" __global__ void f(const float* y, const float* dy, float* dx, int rows,'
        " int cols) { const float* p = y + (size_t)blockIdx.x * cols; const float* d = dy +"
        " (size_t)blockIdx.x * cols; float s = 0.f; for (int j = threadIdx.x; j < cols; j += 32)"
        " s += p[j] * d[j]; for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s,"
        " o); for (int j = threadIdx.x; j < cols; j += 32) dx[(size_t)blockIdx.x * cols + j] ="
        " p[j] * (d[j] - s); }",
        {"y": "input float32 rows, cols", "dy": "input float32 rows, cols",
         "dx": "output float32 rows, cols", "rows": "int32", "cols": "int32"},
        {"grid": ["rows"], "block": [32]}, ROWS,
    ),
}  # fmt: skip

SECOND: Mapping[str, Kernel] = {
    "a step with momentum, weights in half and in float": Kernel(
        "several outputs, types",
        _HALF + 'extern "C" __global__ void f(__half* w16, float* w32, float* mom, const __half* g,'
        f" int n, float lr, float mu) {{ {_I} float d = __half2float(g[i]); float v = mu * mom[i]"
        " + d; mom[i] = v; w32[i] = w32[i] - lr * (d + mu * v); w16[i] = __float2half(w32[i]); }",
        {"w16": "output float16 n", "w32": "inout float32 n", "mom": "inout float32 n",
         "g": "input float16 n", "n": "int32", "lr": "float32=0.01", "mu": "float32=0.9"},
        A_THREAD,
    ),
    "layer norm backwards": Kernel(
        "rows",
        'extern "C" __global__ void f(float* dinp, const float* dout, const float* inp, const'
        f" float* w, const float* mean, const float* rstd, int rows, int cols) {{ {_R}"
        " const float* d = dout + row * cols;"
        " const float* x = inp + row * cols; float m = mean[row], r = rstd[row],"
        " a = 0.f, b = 0.f; for (int c = 0; c < cols; c++) { float nrm = (x[c] - m) * r, t = w[c] *"
        " d[c]; a += t; b += t * nrm; } a /= cols; b /= cols; for (int c = 0; c < cols; c++) {"
        " float nrm = (x[c] - m) * r, t = w[c] * d[c]; dinp[row * cols + c] += (t - a - nrm * b) *"
        " r; } }",
        {"dinp": "inout float32 rows, cols", "dout": "input float32 rows, cols",
         "inp": "input float32 rows, cols", "w": "input float32 cols",
         "mean": "input float32 rows", "rstd": "input float32 rows", "rows": "int32",
         "cols": "int32"},
        A_ROW, ROWS,
    ),
    "turned pairs of halves": Kernel(
        "types",
        _HALF + 'extern "C" __global__ void f(const half2* q, const float2* turn, half2* out, int'
        f" rows, int cols) {{ int i = {_T}; int pairs = cols / 2; if (i >= rows * pairs) return;"
        " float2 v = __half22float2(q[i]); float2 t = turn[i % pairs]; out[i] = __floats2half2_rn("
        "v.x * t.x - v.y * t.y, v.x * t.y + v.y * t.x); }",
        {"q": "input float16 rows, cols", "turn": "input float32 cols",
         "out": "output float16 rows, cols", "rows": "int32", "cols": "int32"},
        {"grid": ["cdiv(rows * cols // 2, 256)"], "block": [256]},
        {**ROWS, "cols": {"min": 2, "max": 4096, "multiple_of": 2}},
    ),
    "divergence of distributions": Kernel(
        "few outputs",
        'extern "C" __global__ void f(const float* p, const float* logq, float* kl, int n) {'
        f" int i = {_T}; float v = i < n && p[i] > 0.f ? p[i] * (logf(p[i]) - logq[i]) : 0.f;"
        " for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(~0u, v, o);"
        " if ((threadIdx.x & 31) == 0) atomicAdd(kl, v); }",
        {"p": "input float32 n", "logq": "input float32 n", "kl": "inout float32 1",
         "n": "int32"},
        A_THREAD,
    ),
    "products of rows of bytes": Kernel(
        "types, rows",
        'extern "C" __global__ void f(const char4* a, const char4* b, int* y, int rows, int cols)'
        f" {{ {_R} int s = 0, n = cols / 4; for (int k = 0; k < n; ++k) {{ char4 u ="
        " a[row * n + k], v = b[row * n + k]; s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w; }"
        " y[row] = s; }",
        {"a": "input int8 rows, cols", "b": "input int8 rows, cols", "y": "output int32 rows",
         "rows": "int32", "cols": "int32"},
        A_ROW, {**ROWS, "cols": {"min": 4, "max": 4096, "multiple_of": 4}},
    ),
    "sums and counts by class": Kernel(
        "scatter",
        'extern "C" __global__ void f(const int* cls, const float* v, float* total, int* count,'
        f" int n) {{ {_I} atomicAdd(&total[cls[i]], v[i]); atomicAdd(&count[cls[i]], 1); }}",
        {"cls": "input int32 n", "v": "input float32 n", "total": "inout float32 100",
         "count": "inout int32 100", "n": "int32"},
        A_THREAD,
    ),
    "seven points of a block of doubles": Kernel(
        "stencil, types",
        'extern "C" __global__ void f(const double* u, double* v, int nx, int ny, int nz) { int x ='
        " blockIdx.x * blockDim.x + threadIdx.x + 1, y = blockIdx.y * blockDim.y + threadIdx.y + 1;"
        " if (x >= nx - 1 || y >= ny - 1) return; for (int z = 1; z < nz - 1; ++z) { int c = (z *"
        " ny + y) * nx + x; v[c] = 0.4 * u[c] + 0.1 * (u[c - 1] + u[c + 1] + u[c - nx] + u[c + nx]"
        " + u[c - nx * ny] + u[c + nx * ny]); } }",
        {"u": "input float64 nz, ny, nx", "v": "inout float64 nz, ny, nx", "nx": "int32",
         "ny": "int32", "nz": "int32"},
        {"grid": ["cdiv(nx, 32)", "cdiv(ny, 4)"], "block": [32, 4]},
        {"nx": {"min": 3, "max": 512}, "ny": {"min": 3, "max": 512}, "nz": {"min": 3, "max": 128}},
    ),
    "columns of a gradient, a block a column": Kernel(
        "few outputs",
        'extern "C" __global__ void f(const float* dout, float* db, int rows, int cols) {'
        " __shared__ float part[8]; float s = 0.f; for (int r = threadIdx.x; r < rows; r += 256)"
        " s += dout[r * cols + blockIdx.x]; for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u,"
        " s, o); if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s; __syncthreads();"
        " if (threadIdx.x == 0) { float t = 0.f; for (int k = 0; k < 8; ++k) t += part[k];"
        " db[blockIdx.x] = t; } }",
        {"dout": "input float32 rows, cols", "db": "output float32 cols", "rows": "int32",
         "cols": "int32"},
        {"grid": ["cols"], "block": [256]}, ROWS,
    ),
}  # fmt: skip
