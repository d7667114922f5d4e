"""Products of matrices in unusual shapes and spellings, with what torch is asked for the same work.

Written before any schedule was asked about them, and what they take on a GPU has chosen nothing.
Those of SEEN_SINCE had a class mended with them in view; the others are held out. `products.py`
times them beside those of `products_kernels.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_AT = (
    "int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (i >= m || j >= n) return;"
)
CELLS = {"grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16]}


@dataclass(frozen=True)
class Spelled:
    """A kernel `f` of which `a`, `b` and `c` are the matrices, in the order of `shapes`."""

    source: str
    shapes: Mapping[str, tuple[int | str, ...]]
    """of arrays by their names, the last one what is written"""
    sizes: Mapping[str, int]
    """of what is timed"""
    flops: int
    torch: str
    means: str
    """in numpy"""
    launch: Mapping[str, Any] = field(default_factory=lambda: dict(CELLS))
    scalars: Mapping[str, str | float] = field(default_factory=dict[str, str | float])
    """value by name, before the sizes"""
    dtypes: tuple[str, str] = ("float32", "float32")
    """of what is read and of what is written"""
    updated: bool = False
    """whether what is written is read before"""

    def spec(self, name: str) -> dict[str, Any]:
        """As a spec in JSON."""
        *given, out = self.shapes
        arrays = [
            {"name": each, "role": "input", "dtype": self.dtypes[0], "shape": [*self.shapes[each]]}
            for each in given
        ]
        role = "inout" if self.updated else "output"
        arrays.append(
            {"name": out, "role": role, "dtype": self.dtypes[1], "shape": [*self.shapes[out]]}
        )
        scalars: list[dict[str, Any]] = [
            {
                "name": each,
                "role": "scalar",
                "dtype": "float32" if isinstance(value, float) else "int32",
                "value": value,
            }
            for each, value in {**self.scalars, **{size: size for size in "mnk"}}.items()
        ]
        taken = [*given, *([out] if self.updated else [])]
        return {
            "name": name,
            "kernel": {
                "kernel_type": "cuda",
                "source_code": self.source,
                "metadata": {"kernel_name": "f"},
                "launch": dict(self.launch),
            },
            "io": {"arguments": [*arrays, *scalars]},
            "symbols": {n: {"min": 1, "max": max(s, 512)} for n, s in self.sizes.items()},
            "workloads": [{"name": "main", "symbols": dict(self.sizes)}],
            "reference": {
                "source_code": "import numpy as np\n"
                f"def reference({', '.join(taken)}, **sizes):\n    return {self.means}\n"
            },
        }


def _flops(m: int, n: int, k: int, batch: int = 1) -> int:
    return 2 * m * n * k * batch


def _sizes(m: int, n: int, k: int) -> dict[str, int]:
    return {"m": m, "n": n, "k": k}


_AB: Mapping[str, tuple[int | str, ...]] = {"a": ("m", "k"), "b": ("k", "n"), "c": ("m", "n")}

SPELLED: Mapping[str, Spelled] = {
    "a batch by strides": Spelled(
        "struct Item { const float *a, *b; float* c; };\n"
        "__device__ Item item_at(const float* a, const float* b, float* c, long sa, long sb,"
        " long sc, int z) { return {a + z * sa, b + z * sb, c + z * sc}; }\n"
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int sa, int sb,'
        f" int sc, int m, int n, int k) {{ {_AT} Item t = item_at(a, b, c, sa, sb, sc, blockIdx.z);"
        " float s = 0; for (int q = 0; q < k; ++q) s += t.a[i * k + q] * t.b[q * n + j];"
        " t.c[i * n + j] = s; }",
        {"a": (48, "m", "k"), "b": (48, "k", "n"), "c": (48, "m", "n")},
        _sizes(200, 136, 72),
        _flops(200, 136, 72, 48),
        "a @ b",
        "a @ b",
        {"grid": ["cdiv(n, 16)", "cdiv(m, 16)", 48], "block": [16, 16]},
        {"sa": "m * k", "sb": "k * n", "sc": "m * n"},
    ),
    "a matrix by itself": Spelled(
        'extern "C" __global__ void f(const float* a, float* c, int m, int n, int k) {'
        f" {_AT.replace('i >= m', 'i >= n')} const float *u = a + i, *v = a + j; float s = 0;"
        " for (int q = k; q-- > 0; u += n, v += n) s += *u * *v; c[i * n + j] = s; }",
        {"a": ("k", "n"), "c": ("n", "n")},
        _sizes(777, 777, 3000),
        _flops(777, 777, 3000),
        "a.t() @ a",
        "a.T @ a",
        {"grid": ["cdiv(n, 16)", "cdiv(n, 16)"], "block": [16, 16]},
        {},
    ),
    "halves with sums of floats": Spelled(
        "#include <cuda_fp16.h>\n"
        'extern "C" __global__ void f(const __half* a, const __half* b, __half* c, int m, int n,'
        f" int k) {{ {_AT} float s = 0.0f; for (int q = 0; q < k; q++)"
        " s += __half2float(a[i * k + q]) * __half2float(b[j * k + q]);"
        " c[i * n + j] = __float2half(s); }",
        {"a": ("m", "k"), "b": ("n", "k"), "c": ("m", "n")},
        _sizes(1000, 1000, 1001),
        _flops(1000, 1000, 1001),
        "a @ b.t()",
        "a @ b.T",
        dtypes=("float16", "float16"),
    ),
    "leading dimensions, by columns": Spelled(
        "#define AT(x, r, c, ld) x[(size_t)(c) * (ld) + (r)]\n"
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int lda, int ldb,'
        f" int ldc, int m, int n, int k) {{ {_AT} float s = 0;"
        " for (int q = 0; q < k; ++q) s += AT(a, i, q, lda) * AT(b, q, j, ldb);"
        " AT(c, i, j, ldc) = s; }",
        {"a": ("k", "m + 8"), "b": ("n", "k + 4"), "c": ("n", "m")},
        _sizes(1500, 900, 640),
        _flops(1500, 900, 640),
        "b[:, :640] @ a[:, :1500]",
        "b[:, :sizes['k']] @ a[:, :sizes['m']]",
        scalars={"lda": "m + 8", "ldb": "k + 4", "ldc": "m"},
    ),
    "a row a thread": Spelled(
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int m, int n,'
        " int k) { int i = threadIdx.x + blockIdx.x * blockDim.x; if (i < m) {"
        " const float* row = &a[i * k]; float* to = &c[i * n]; for (int j = 0; j < n; j++) {"
        " to[j] = 0; for (int q = 0; q < k; q++) to[j] += row[q] * b[q * n + j]; } } }",
        _AB,
        _sizes(4096, 96, 160),
        _flops(4096, 96, 160),
        "a @ b",
        "a @ b",
        {"grid": ["cdiv(m, 128)"], "block": [128]},
    ),
    "tiles of 32 in shared memory": Spelled(
        "constexpr int SIDE = 32;\n"
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int m, int n,'
        " int k) { __shared__ float left[SIDE][SIDE], right[SIDE][SIDE + 1];"
        " const int tx = threadIdx.x, ty = threadIdx.y;"
        " const int i = blockIdx.y * SIDE + ty, j = blockIdx.x * SIDE + tx; float s = 0;"
        " for (int t = 0; t < (k + SIDE - 1) / SIDE; ++t) {"
        " left[ty][tx] = i < m && t * SIDE + tx < k ? a[i * k + t * SIDE + tx] : 0.f;"
        " right[ty][tx] = t * SIDE + ty < k && j < n ? b[(t * SIDE + ty) * n + j] : 0.f;"
        " __syncthreads(); for (int q = 0; q < SIDE; ++q) s += left[ty][q] * right[q][tx];"
        " __syncthreads(); } if (i < m && j < n) c[i * n + j] = s; }",
        _AB,
        _sizes(1111, 1300, 907),
        _flops(1111, 1300, 907),
        "a @ b",
        "a @ b",
        {"grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "block": [32, 32]},
    ),
    "alpha and beta": Spelled(
        'extern "C" __global__ void f(const float* a, const float* b, float* c, float alpha,'
        f" float beta, int m, int n, int k) {{ {_AT} float s = 0;"
        " for (int q = 0; q < k; ++q) s += a[q + i * k] * b[j + q * n];"
        " c[j + i * n] = alpha * s + beta * c[j + i * n]; }",
        _AB,
        _sizes(1024, 2000, 500),
        _flops(1024, 2000, 500),
        "torch.addmm(c, a, b, alpha=1.5, beta=0.5)",
        "1.5 * (a @ b) + 0.5 * c",
        scalars={"alpha": 1.5, "beta": 0.5},
        updated=True,
    ),
    "what is written transposed": Spelled(
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int m, int n,'
        f" int k) {{ {_AT} double unused = 0; float s = float(unused);"
        " for (int q = 0; q < k; ++q) s = __fmaf_rn(a[i * k + q], b[q * n + j], s);"
        " c[j * m + i] = s; }",
        {"a": ("m", "k"), "b": ("k", "n"), "c": ("n", "m")},
        _sizes(640, 3000, 333),
        _flops(640, 3000, 333),
        "(a @ b).t().contiguous()",
        "(a @ b).T",
    ),
    "doubles over the grid": Spelled(
        "typedef double real;\ntemplate <class T> __device__ T times(const T* u, const T* v, int k,"
        " int step) { T s = 0; while (k-- > 0) { s += *u++ * *v; v += step; } return s; }\n"
        'extern "C" __global__ void f(const real* a, const real* b, real* c, int m, int n, int k) {'
        " for (long e = blockIdx.x * (long)blockDim.x + threadIdx.x; e < (long)m * n;"
        " e += (long)gridDim.x * blockDim.x)"
        " c[e] = times(a + e / n * k, b + e % n, k, n); }",
        _AB,
        _sizes(700, 700, 700),
        _flops(700, 700, 700),
        "a @ b",
        "a @ b",
        {"grid": [1024], "block": [256]},
        dtypes=("float64", "float64"),
    ),
    "four terms at once and the rest": Spelled(
        'extern "C" __global__ void f(const float* a, const float* b, float* c, int m, int n,'
        f" int k) {{ {_AT} const float* u = a + i * k; float s = 0; int q = 0;"
        " for (; q + 3 < k; q += 4) s += u[q] * b[q * n + j] + u[q + 1] * b[(q + 1) * n + j]"
        " + u[q + 2] * b[(q + 2) * n + j] + u[q + 3] * b[(q + 3) * n + j];"
        " for (; q < k; ++q) s += u[q] * b[q * n + j]; c[i * n + j] = s; }",
        _AB,
        _sizes(1999, 257, 1023),
        _flops(1999, 257, 1023),
        "a @ b",
        "a @ b",
    ),
}
SEEN_SINCE = frozenset({"alpha and beta"})
