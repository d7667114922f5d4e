"""Plain CUDA kernels for `lifting.py`, each with numpy that says what it computes, and rules that
spell a kernel anew. The reader was developed on kernels like those of DEVELOPED. HELD_OUT was
written when the reader was done; its first run met an error of the interpreter (comparing unsigned
64-bit integers), which was mended, and nothing else was changed for it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
ROWS, COLS = 6, 9
SIZES = {"n": ROWS * COLS, "rows": ROWS, "cols": COLS}
AT = "blockIdx.x * blockDim.x + threadIdx.x"


@dataclass(frozen=True)
class Plain:
    """A kernel over inputs `a` and `b` (rows x cols), output `y` as large, `n = rows * cols`."""

    bound: str
    """threads that have work: `n`, `rows` or `cols`"""
    body: str
    """the work of thread `i`"""
    means: Callable[[Array, Array], Array]
    """the first elements of `y`, from `a` and `b` in float64"""

    @property
    def source(self) -> str:
        """The kernel as it is written plainly."""
        return (
            'extern "C" __global__ void f(const float* a, const float* b, float* y, int n, '
            f"int rows, int cols) {{\n    int i = {AT};\n    if (i < {self.bound}) {{\n"
            f"        {self.body}\n    }}\n}}\n"
        )


def _over(first: str, turn: str, last: str) -> str:
    loop = "for (int k = 0; k < cols; ++k)"
    return f"float s = {first}; {loop} {{ {turn} }} {last}"


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


DEVELOPED = {
    "relu": Plain("n", "y[i] = fmaxf(a[i], 0.0f);", lambda a, b: np.maximum(a, 0)),
    "add": Plain("n", "y[i] = a[i] + b[i];", lambda a, b: a + b),
    "row_sum": Plain(
        "rows", _over("0", "s += a[i * cols + k];", "y[i] = s;"), lambda a, b: a.sum(1)
    ),
    "row_max": Plain(
        "rows",
        _over("a[i * cols]", "s = fmaxf(s, a[i * cols + k]);", "y[i] = s;"),
        lambda a, b: a.max(1),
    ),
    "softmax": Plain(
        "rows",
        "float m = a[i * cols]; for (int k = 1; k < cols; ++k) m = fmaxf(m, a[i * cols + k]); "
        + _over(
            "0",
            "s += expf(a[i * cols + k] - m);",
            "for (int k = 0; k < cols; ++k) y[i * cols + k] = expf(a[i * cols + k] - m) / s;",
        ),
        lambda a, b: _softmax(a),
    ),
}
HELD_OUT = {
    "axpy": Plain("n", "y[i] = 2.5f * a[i] + b[i];", lambda a, b: 2.5 * a + b),
    "swish": Plain("n", "y[i] = a[i] / (1.0f + expf(-a[i]));", lambda a, b: a / (1 + np.exp(-a))),
    "hard_tanh": Plain(
        "n", "y[i] = a[i] < -1.0f ? -1.0f : a[i] > 1.0f ? 1.0f : a[i];", lambda a, b: a.clip(-1, 1)
    ),
    "leaky": Plain(
        "n",
        "if (a[i] > 0) y[i] = a[i]; else y[i] = 0.01f * a[i];",
        lambda a, b: np.where(a > 0, a, 0.01 * a),
    ),
    "softplus": Plain("n", "y[i] = log1pf(expf(a[i]));", lambda a, b: np.log1p(np.exp(a))),
    "bias": Plain("n", "y[i] = a[i] + b[i % cols];", lambda a, b: a + b.ravel()[:COLS]),
    "transpose": Plain("n", "y[(i % cols) * rows + i / cols] = a[i];", lambda a, b: a.T),
    "reverse": Plain("n", "y[i] = a[n - 1 - i];", lambda a, b: a.ravel()[::-1]),
    "three_points": Plain(
        "n",
        "float l = i > 0 ? a[i - 1] : 0.0f, r = i < n - 1 ? a[i + 1] : 0.0f; "
        "y[i] = 0.25f * l + 0.5f * a[i] + 0.25f * r;",
        lambda a, b: np.convolve(a.ravel(), [0.25, 0.5, 0.25], "same"),
    ),
    "dot_rows": Plain(
        "rows",
        _over("0", "s += a[i * cols + k] * b[i * cols + k];", "y[i] = s;"),
        lambda a, b: (a * b).sum(1),
    ),
    "column_mean": Plain(
        "cols",
        "float s = 0; for (int k = 0; k < rows; ++k) s += a[k * cols + i]; y[i] = s / rows;",
        lambda a, b: a.mean(0),
    ),
    "rms_norm": Plain(
        "rows",
        _over(
            "0",
            "float v = a[i * cols + k]; s += v * v;",
            "float c = rsqrtf(s / cols + 1e-5f); "
            "for (int k = 0; k < cols; ++k) y[i * cols + k] = a[i * cols + k] * c;",
        ),
        lambda a, b: a / np.sqrt((a * a).mean(1, keepdims=True) + 1e-5),
    ),
    "running_sum": Plain(
        "rows",
        _over("0", "s += a[i * cols + k]; y[i * cols + k] = s;", ""),
        lambda a, b: a.cumsum(1),
    ),
    "arg_min": Plain(
        "rows",
        "int at = 0; " + _over("a[i * cols]", "if (a[i * cols + k] < s) "
        "{ s = a[i * cols + k]; at = k; }", "y[i] = at;"),
        lambda a, b: a.argmin(1),
    ),
    "product_aat": Plain(
        "n",
        "int r = i / cols, c = i % cols; " + _over("0", "s += a[r * cols + k] * b[(c % rows) * "
        "cols + k];", "y[i] = s;"),
        lambda a, b: (a @ b.T)[:, np.arange(COLS) % ROWS],
    ),
    "windows": Plain(
        "rows",
        "for (int c = 0; c + 2 < cols; c += 3) { float m = a[i * cols + c]; for (int k = 1; k < 3;"
        " ++k) m = fmaxf(m, a[i * cols + c + k]); y[i * (cols / 3) + c / 3] = m; }",
        lambda a, b: a.reshape(ROWS, COLS // 3, 3).max(2),
    ),
    "first_positive": Plain(
        "rows",
        "int k = 0; while (k < cols && a[i * cols + k] <= 0) ++k; y[i] = k;",
        lambda a, b: np.where((a > 0).any(1), (a > 0).argmax(1), COLS),
    ),
    "small_array": Plain(
        "rows",
        "float t[3]; for (int k = 0; k < 3; ++k) t[k] = a[i * cols + k]; "
        "y[i] = t[0] * t[1] + t[2];",
        lambda a, b: a[:, 0] * a[:, 1] + a[:, 2],
    ),
}  # fmt: skip
_PARAMETERS = r"\(const float\* a, const float\* b, float\* y, int n, int rows, int cols\)"
_KERNEL = re.compile(rf'extern "C" __global__ void f({_PARAMETERS}) ')
_GUARD = re.compile(r"if \(i < (\w+)\) \{")


def _into(head: str, called: str) -> Callable[[str], str]:
    def respelled(source: str) -> str:
        names, body = "a, b, y, n, rows, cols", _KERNEL.sub("", source)
        listed = _KERNEL.search(source)
        assert listed is not None
        inner = listed[1].replace("float", "T") if "typename" in head else listed[1]
        return f"{head} void work{inner} {body}{listed[0]}{{ {called}({names}); }}\n"

    return respelled


def _with_row(source: str, name: str, element: str) -> str:
    if "a[i * cols + k]" not in source:
        return source
    made = source.replace("a[i * cols + k]", element)
    return _GUARD.sub(rf"if (i < \1) {{\n        const float* {name} = a + i * cols;", made)


def _tiled(source: str) -> str:
    """The element of each thread by way of shared memory."""
    head = "    __shared__ float tile[32];\n    tile[threadIdx.x] = i < n ? a[i] : 0.0f;\n"
    made = source.replace("a[i]", "tile[threadIdx.x]")
    return made.replace("    if (i < n) {", head + "    __syncthreads();\n    if (i < n) {")


RESPELLINGS: dict[str, Callable[[str], str]] = {
    "typedef": lambda s: "typedef float real;\n" + re.sub(r"\bfloat\b", "real", s),
    "size_t": lambda s: s.replace("int i =", "size_t i ="),
    "auto": lambda s: s.replace("int i =", "const auto i ="),
    "macro": lambda s: f"#define AT ({AT})\n" + s.replace(AT, "AT"),
    "swapped": lambda s: s.replace(AT, "threadIdx.x + blockDim.x * blockIdx.x"),
    "helper": _into("__device__", "work"),
    "template": _into("template <typename T> __device__", "work<float>"),
    "early return": lambda s: _GUARD.sub(r"if (i >= \1) return;\n    {", s),
    "grid-stride": lambda s: _GUARD.sub(r"for (; i < \1; i += blockDim.x * gridDim.x) {", s),
    "pointer offset": lambda s: (
        s.replace(") {\n", ") {\n    ++a; --b;\n", 1)
        .replace("a[", "a[-1 + ")
        .replace("b[", "b[1 + ")
    ),
    "swapped x and y": lambda s: re.sub(r"\b(threadIdx|blockIdx|blockDim)\.x", r"\1.y", s),
    "row pointer": lambda s: _with_row(s, "row", "row[k]"),
    "stepped pointer": lambda s: (
        _with_row(s, "at", "*at++") if s.count("a[i * cols + k]") == 1 and "a[i" in s else s
    ),
    "tile in shared memory": lambda s: _tiled(s) if "a[i]" in s else s,
    "count down": lambda s: s.replace(
        "for (int k = 0; k < cols; ++k) s +=", "for (int k = cols - 1; k >= 0; --k) s +="
    ),
}
"""rules that give a kernel another spelling; one that changes nothing does not count"""
