"""Host C++ kernels without knobs, as somebody writes them who has a loop and no time.

Each is a source with a contract; its baseline is its own truth. `DEVELOPED_ON` were looked at while
the moves and the search were made; `CLAIMED_ON` were not, and it is those that a claim rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DOT = """\
void dot(const double* x, const double* y, double* result, int n) {
    double total = 0.0;
    for (int i = 0; i < n; i++) total += x[i] * y[i];
    result[0] = total;
}
"""
HEAT = """\
void heat(const double* u, double* v, int n) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            v[i * n + j] = 0.2 * (u[i * n + j] + u[i * n + j - 1] + u[i * n + j + 1] +
                                  u[(i + 1) * n + j] + u[(i - 1) * n + j]);
}
"""
PRODUCT_IKJ = """\
void product(const float* A, const float* B, float* C, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) C[i * n + j] = 0.0f;
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                C[i * n + j] = C[i * n + j] + A[i * n + k] * B[k * n + j];
    }
}
"""
ATAX = """\
void atax(const double* A, const double* x, double* y, double* tmp, int m, int n) {
    for (int i = 0; i < n; i++) y[i] = 0;
    for (int i = 0; i < m; i++) {
        tmp[i] = 0.0;
        for (int j = 0; j < n; j++) tmp[i] = tmp[i] + A[i * n + j] * x[j];
        for (int j = 0; j < n; j++) y[j] = y[j] + A[i * n + j] * tmp[i];
    }
}
"""
RMSNORM = """\
#include <cmath>

void rmsnorm(const float* x, const float* gain, float* y, int rows, int n) {
    for (int r = 0; r < rows; r++) {
        float squares = 0.0f;
        for (int i = 0; i < n; i++) squares += x[r * n + i] * x[r * n + i];
        const float scale = 1.0f / std::sqrt(squares / n + 1e-5f);
        for (int i = 0; i < n; i++) y[r * n + i] = x[r * n + i] * scale * gain[i];
    }
}
"""
MVT = """\
void mvt(const double* A, const double* y1, const double* y2, double* x1, double* x2, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) x1[i] = x1[i] + A[i * n + j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) x2[i] = x2[i] + A[j * n + i] * y2[j];
}
"""
TWO_PRODUCTS = """\
void two_products(const float* A, const float* B, const float* C, float* T, float* D, int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            T[i * n + j] = 0.0f;
            for (int k = 0; k < n; ++k) T[i * n + j] += A[i * n + k] * B[k * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            D[i * n + j] = 0.0f;
            for (int k = 0; k < n; ++k) D[i * n + j] += T[i * n + k] * C[k * n + j];
        }
}
"""
NORM = """\
void distance(const float* a, const float* b, double* result, int n) {
    double total = 0.0;
    for (int i = 0; i < n; ++i) {
        const double d = (double)a[i] - (double)b[i];
        total = total + d * d;
    }
    result[0] = total;
}
"""


@dataclass(frozen=True)
class HostKernel:
    """A source, its arguments in order as (name, role, dtype, shape), and sizes to search on."""

    name: str
    source: str
    arrays: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    scalars: tuple[str, ...]
    sizes: Mapping[str, int]
    inits: Mapping[str, Any] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """As `spec.json` has it."""
        inits = self.inits or {}
        arrays = [
            {"name": name, "role": role, "dtype": dtype, "shape": list(shape)}
            | ({} if role == "output" else {"init": inits.get(name, "randn")})
            for name, role, dtype, shape in self.arrays
        ]
        sizes = [{"name": s, "role": "scalar", "dtype": "int32", "value": s} for s in self.scalars]
        kernel = {"kernel_type": "cpp", "source_code": self.source}
        return {
            "name": self.name,
            "kernel": {**kernel, "metadata": {"kernel_name": self.name}},
            "io": {"arguments": [*arrays, *sizes]},
            "symbols": {name: {"min": 3, "max": 1 << 24} for name in self.sizes},
            "workloads": [{"name": "usual", "symbols": dict(self.sizes)}],
            "reference": "baseline",
        }


N, NN = ("n",), ("n", "n")
DEVELOPED_ON = (
    HostKernel(
        "dot",
        DOT,
        (
            ("x", "input", "float64", N),
            ("y", "input", "float64", N),
            ("result", "output", "float64", ("1",)),
        ),
        N,
        {"n": 3_000_000},
        {"x": "uniform", "y": "uniform"},
    ),
    HostKernel(
        "heat",
        HEAT,
        (("u", "input", "float64", NN), ("v", "inout", "float64", NN)),
        N,
        {"n": 1500},
    ),
    HostKernel(
        "product",
        PRODUCT_IKJ,
        (
            ("A", "input", "float32", NN),
            ("B", "input", "float32", NN),
            ("C", "output", "float32", NN),
        ),
        N,
        {"n": 320},
    ),
    HostKernel(
        "atax",
        ATAX,
        (
            ("A", "input", "float64", ("m", "n")),
            ("x", "input", "float64", N),
            ("y", "output", "float64", N),
            ("tmp", "output", "float64", ("m",)),
        ),
        ("m", "n"),
        {"m": 1100, "n": 1300},
    ),
)
CLAIMED_ON = (
    HostKernel(
        "rmsnorm",
        RMSNORM,
        (
            ("x", "input", "float32", ("rows", "n")),
            ("gain", "input", "float32", N),
            ("y", "output", "float32", ("rows", "n")),
        ),
        ("rows", "n"),
        {"rows": 900, "n": 2000},
    ),
    HostKernel(
        "mvt",
        MVT,
        (
            ("A", "input", "float64", NN),
            ("y1", "input", "float64", N),
            ("y2", "input", "float64", N),
            ("x1", "inout", "float64", N),
            ("x2", "inout", "float64", N),
        ),
        N,
        {"n": 1200},
    ),
    HostKernel(
        "two_products",
        TWO_PRODUCTS,
        (
            ("A", "input", "float32", NN),
            ("B", "input", "float32", NN),
            ("C", "input", "float32", NN),
            ("T", "output", "float32", NN),
            ("D", "output", "float32", NN),
        ),
        N,
        {"n": 240},
    ),
    HostKernel(
        "distance",
        NORM,
        (
            ("a", "input", "float32", N),
            ("b", "input", "float32", N),
            ("result", "output", "float64", ("1",)),
        ),
        N,
        {"n": 3_000_000},
    ),
)
