"""Pairs of host kernels whose ratio hangs on where their buffers lie, more or less, or not at all.

Sides 0 and 1 of a pair compute the same; each is a source of its own in one spec.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SCALAR = '__attribute__((optimize("no-tree-vectorize")))\n'
TRIAD = """\
void work(const float* x, const float* z, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = x[i] + 3.0f * z[i];
}
"""
TRIAD_BY_TWO = """\
void work(const float* __restrict x, const float* __restrict z, float* __restrict y, int n) {
    const int half = n / 2;
    for (int i = 0; i < half; ++i) {
        y[i] = x[i] + 3.0f * z[i];
        y[half + i] = x[half + i] + 3.0f * z[half + i];
    }
    for (int i = 2 * half; i < n; ++i) y[i] = x[i] + 3.0f * z[i];
}
"""
SMOOTH = """\
void work(const float* x, const float* z, float* y, int n) {
    y[0] = x[0] + z[0];
    y[n - 1] = x[n - 1] + z[n - 1];
    for (int i = 1; i < n - 1; ++i) y[i] = 0.25f * (x[i - 1] + 2.0f * x[i] + x[i + 1]) + z[i];
}
"""
PRODUCT = """\
void work(const float* x, const float* z, float* y, int n) {
    const int m = 96, rows = n / m;
    for (int i = 0; i < n; ++i) y[i] = 0.0f;
    for (int r = 0; r < rows; ++r)
        for (int p = 0; p < m; ++p) {
            float sum = 0.0f;
            for (int s = 0; s < m; ++s) sum += x[r * m + s] * z[s * m + p];
            y[r * m + p] = sum;
        }
}
"""
PRODUCT_BY_ROWS = """\
void work(const float* __restrict x, const float* __restrict z, float* __restrict y, int n) {
    const int m = 96, rows = n / m;
    for (int i = 0; i < n; ++i) y[i] = 0.0f;
    for (int r = 0; r < rows; ++r)
        for (int s = 0; s < m; ++s)
            for (int p = 0; p < m; ++p) y[r * m + p] += x[r * m + s] * z[s * m + p];
}
"""
TRANSPOSE = """\
void work(const float* x, const float* z, float* y, int n) {
    const int m = 512;
    for (int i = 0; i < n; ++i) y[i] = z[i];
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < m; ++j) y[i * m + j] += x[j * m + i];
}
"""
TRANSPOSE_BY_TILES = """\
void work(const float* __restrict x, const float* __restrict z, float* __restrict y, int n) {
    const int m = 512, tile = 16;
    for (int i = 0; i < n; ++i) y[i] = z[i];
    for (int a = 0; a < m; a += tile)
        for (int b = 0; b < m; b += tile)
            for (int i = a; i < a + tile; ++i)
                for (int j = b; j < b + tile; ++j) y[i * m + j] += x[j * m + i];
}
"""
ADDED = "import numpy as np\n\ndef reference(x, z, n):\n    return x + 3.0 * z\n"
SMOOTHED = """\
import numpy as np

def reference(x, z, n):
    y = x + z
    y[1:-1] = 0.25 * (x[:-2] + 2.0 * x[1:-1] + x[2:]) + z[1:-1]
    return y
"""
MULTIPLIED = """\
import numpy as np

def reference(x, z, n):
    rows = n // 96
    y = np.zeros_like(x)
    y[: rows * 96] = (x[: rows * 96].reshape(rows, 96) @ z[: 96 * 96].reshape(96, 96)).ravel()
    return y
"""
TRANSPOSED = """\
def reference(x, z, n):
    y = z.copy()
    y[: 512 * 512] += x[: 512 * 512].reshape(512, 512).T.ravel()
    return y
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides of one kernel, at one size. `equal`: they are the same code."""

    name: str
    n: int
    sources: tuple[str, str]
    reference: str
    least: int = 2
    """of n, that the kernel takes"""
    tier: str = "native"

    @property
    def equal(self) -> bool:
        """Whether there is nothing to be found."""
        return self.sources[0] == self.sources[1]

    def source(self, knob: int) -> str:
        """Side 0, the slower one as a rule, or 1."""
        return self.sources[knob]

    def spec(self) -> dict[str, Any]:
        """The spec, with side 0 as its kernel."""
        of = {"dtype": "float32", "shape": ["n"]}
        arguments = [
            *({"name": name, "role": "input", **of} for name in ("x", "z")),
            {"name": "y", "role": "output", **of},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
        ]
        kernel = {
            "kernel_type": "cpp",
            "source_code": self.sources[0],
            "metadata": {"kernel_name": "work"},
        }
        return {
            "name": f"placed_{self.name}",
            "kernel": kernel,
            "io": {"arguments": arguments, "bytes": "12 * n"},
            "symbols": {"n": {"min": self.least, "max": self.n}},
            "workloads": [{"name": "w", "symbols": {"n": self.n}}],
            "reference": {"source_code": self.reference},
        }


PAIRS = (
    Pair("triad_in_cache", 1 << 14, (TRIAD, TRIAD_BY_TWO), ADDED),
    Pair("triad_vectorized", 1 << 14, (SCALAR + TRIAD, TRIAD), ADDED),
    Pair("triad_in_memory", 1 << 21, (SCALAR + TRIAD, TRIAD), ADDED),
    Pair("smooth", 1 << 16, (SCALAR + SMOOTH, SMOOTH), SMOOTHED),
    Pair("product", 96 * 96, (PRODUCT, PRODUCT_BY_ROWS), MULTIPLIED, 96 * 96),
    Pair("transpose", 512 * 512, (TRANSPOSE, TRANSPOSE_BY_TILES), TRANSPOSED, 512 * 512),
    Pair("same_in_cache", 1 << 14, (TRIAD, TRIAD), ADDED),
    Pair("same_smooth", 1 << 16, (SMOOTH, SMOOTH), SMOOTHED),
    Pair("same_product", 96 * 96, (PRODUCT_BY_ROWS, PRODUCT_BY_ROWS), MULTIPLIED, 96 * 96),
)
