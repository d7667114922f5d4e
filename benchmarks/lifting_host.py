"""Host C++ kernels for `lifting.py`, of the kinds that PolyBench and beginners' code have, each
written here, with numpy that says what it computes, and rules that spell a kernel anew. The reader
was developed on HOST. HOST_HELD_OUT was written when the reader was done, and before any of them
was lifted; docs/lifting.md tells the first run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lifting_kernels import COLS, ROWS, Array

HEAD = "void f(const float* a, const float* b, float* y, int n, int rows, int cols) "
_I = "for (int i = 0; i < rows; ++i) "
_J = "for (int j = 0; j < cols; ++j) "
_K = "for (int k = 0; k < cols; ++k) "
_N = "for (int i = 0; i < n; ++i) "


@dataclass(frozen=True)
class Host:
    """A function over inputs `a` and `b` (rows x cols), output `y` as large."""

    body: str
    means: Callable[[Array, Array], Array]
    """the first elements of `y`, from `a` and `b` in float64; the rest of `y` stays 0"""
    before: str = ""
    """what stands over the function"""

    @property
    def source(self) -> str:
        """The whole file."""
        return f"#include <algorithm>\n#include <cmath>\n{self.before}{HEAD}{{ {self.body} }}\n"


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _bins(a: Array) -> Array:
    return np.clip(np.trunc(np.abs(a) * 2), 0, 7).astype(int).ravel()


HOST = {
    "add": Host(f"{_N}y[i] = a[i] + b[i];", lambda a, b: a + b),
    "gram_ijk": Host(
        f"{_I}for (int j = 0; j < rows; ++j) {{ float s = 0; {_K}s += a[i * cols + k] * "
        "b[j * cols + k]; y[i * rows + j] = s; }",
        lambda a, b: a @ b.T,
    ),
    "product_ikj": Host(
        f"{_I}{_J}y[i * cols + j] = 0; {_I}for (int k = 0; k < rows; ++k) {_J}"
        "y[i * cols + j] += a[i * cols + k] * b[k * cols + j];",
        lambda a, b: a[:, :ROWS] @ b,
    ),
    "column_sums": Host(
        f"std::fill(y, y + cols, 0.0f); {_I}{_J}y[j] += a[i * cols + j];", lambda a, b: a.sum(0)
    ),
    "softmax": Host(
        f"{_I}{{ const float* r = a + i * cols; float m = -INFINITY; {_K}m = std::max(m, r[k]); "
        f"float s = 0; {_K}{{ y[i * cols + k] = std::exp(r[k] - m); s += y[i * cols + k]; }} "
        f"{_K}y[i * cols + k] /= s; }}",
        lambda a, b: _softmax(a),
    ),
    "histogram": Host(
        f"{_N}{{ int bin = std::min((int)std::trunc(std::fabs(a[i]) * 2), 7); y[bin] += 1; }}",
        lambda a, b: np.bincount(_bins(a), minlength=8),
    ),
    "transpose": Host(f"{_I}{_J}y[j * rows + i] = a[i * cols + j];", lambda a, b: a.T),
    "cross": Host(
        "for (int i = 1; i < rows - 1; ++i) for (int j = 1; j < cols - 1; ++j) "
        "y[i * cols + j] = (a[(i - 1) * cols + j] + a[(i + 1) * cols + j] + a[i * cols + j - 1] + "
        "a[i * cols + j + 1]) * 0.25f;",
        lambda a, b: np.pad(
            (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4, 1
        ),
    ),
    "running_sum": Host(
        "y[0] = a[0]; for (int i = 1; i < n; ++i) y[i] = y[i - 1] + a[i];",
        lambda a, b: a.ravel().cumsum(),
    ),
}  # fmt: skip


def _moved(a: Array) -> Array:
    return a.reshape(ROWS, 3, 3).transpose(1, 0, 2).ravel()


def _chosen(b: Array) -> Array:
    return np.trunc(np.abs(b[:, 0]) * 100).astype(int) % ROWS


def _until_negative(a: Array) -> Array:
    return np.array([next((k for k, v in enumerate(row) if v < 0), COLS) for row in a])


def _attention(a: Array, b: Array) -> Array:
    return _softmax(a @ b.T) @ b


def _twice(a: Array) -> Array:
    t = a.ravel()[:20]
    right = np.append(t[1:], t[-1])
    return np.stack([t, (t + right) / 2], 1).ravel()


HOST_HELD_OUT = {
    "saxpy_transform": Host(
        "std::transform(a, a + n, b, y, [](float u, float v) { return 2.5f * u + v; });",
        lambda a, b: 2.5 * a + b,
    ),
    "gelu_template": Host(
        f"{_N}y[i] = gelu(a[i]);",
        lambda a, b: 0.5 * a * (1 + np.tanh(0.7978845608 * (a + 0.044715 * a**3))),
        "template <typename T> static inline T gelu(T v) { const T c = T(0.7978845608); "
        "return T(0.5) * v * (T(1) + std::tanh(c * (v + T(0.044715) * v * v * v))); }\n",
    ),
    "jacobi_with_rim": Host(
        f"{_I}{_J}{{ if (i == 0 || j == 0 || i == rows - 1 || j == cols - 1) "
        "y[i * cols + j] = a[i * cols + j]; else y[i * cols + j] = 0.2f * (a[i * cols + j] + "
        "a[i * cols + j - 1] + a[i * cols + j + 1] + a[(i + 1) * cols + j] + "
        "a[(i - 1) * cols + j]); }",
        lambda a, b: np.block(
            [
                [a[:1]],
                [
                    a[1:-1, :1],
                    (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]) / 5,
                    a[1:-1, -1:],
                ],
                [a[-1:]],
            ]
        ),
    ),
    "atax": Host(
        f"{_J}y[j] = 0; {_I}{{ float s = 0; {_J}s += a[i * cols + j] * b[j]; "
        f"{_J}y[j] += a[i * cols + j] * s; }}",
        lambda a, b: a.T @ (a @ b.ravel()[:COLS]),
    ),
    "lower_triangle": Host(
        f"{_I}for (int j = 0; j <= i; ++j) y[i * cols + j] = a[i * cols + j] * 2;",
        lambda a, b: np.tril(a * 2),
    ),
    "symmetric": Host(
        f"{_I}for (int j = i; j < rows; ++j) {{ float s = 0; {_K}s += a[i * cols + k] * "
        "a[j * cols + k]; y[i * rows + j] = s; y[j * rows + i] = s; }",
        lambda a, b: a @ a.T,
    ),
    "column_moments": Host(
        f"{_J}{{ float m = 0; {_I}m += a[i * cols + j]; m /= rows; float v = 0; "
        f"{_I}v += (a[i * cols + j] - m) * (a[i * cols + j] - m); "
        "y[j] = m; y[cols + j] = v / rows; }",
        lambda a, b: np.concatenate([a.mean(0), a.var(0)]),
    ),
    "layer_norm_struct": Host(
        f"{_I}{{ Moments m = moments(a + i * cols, cols); {_K}"
        "y[i * cols + k] = (a[i * cols + k] - m.mean) * m.scale; }",
        lambda a, b: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5),
        "struct Moments { float mean, scale; };\n"
        "static Moments moments(const float* x, int n) { float s = 0, q = 0; "
        "for (int k = 0; k < n; ++k) s += x[k]; s /= n; "
        "for (int k = 0; k < n; ++k) q += (x[k] - s) * (x[k] - s); "
        "return {s, 1 / std::sqrt(q / n + 1e-5f)}; }\n",
    ),
    "place_of_most": Host(
        f"{_I}y[i] = std::max_element(a + i * cols, a + (i + 1) * cols) - (a + i * cols);",
        lambda a, b: a.argmax(1),
    ),
    "exclusive_sums": Host(
        f"{_I}{{ float s = 0; {_K}{{ y[i * cols + k] = s; s += a[i * cols + k]; }} }}",
        lambda a, b: a.cumsum(1) - a,
    ),
    "until_negative": Host(
        f"{_I}{{ int k = 0; for (; k < cols; ++k) if (a[i * cols + k] < 0) break; y[i] = k; }}",
        lambda a, b: _until_negative(a),
    ),
    "three_axes": Host(
        f"{_I}for (int p = 0; p < 3; ++p) for (int q = 0; q < 3; ++q) "
        "y[(p * rows + i) * 3 + q] = a[(i * 3 + p) * 3 + q];",
        lambda a, b: _moved(a),
    ),
    "gather_rows": Host(
        f"{_I}{{ int r = (int)(std::fabs(b[i * cols]) * 100) % rows; {_K}"
        "y[i * cols + k] = a[r * cols + k]; }",
        lambda a, b: a[_chosen(b)],
    ),
    "weighted_histogram": Host(
        f"{_N}{{ int bin = (int)(std::abs(a[i]) * 2); if (bin > 7) bin = 7; y[bin] += b[i]; }}",
        lambda a, b: np.bincount(_bins(a), b.ravel(), minlength=8),
    ),
    "taps": Host(
        "for (int i = 2; i < n; ++i) { float s = 0; for (int t = 0; t < 3; ++t) "
        "s += taps[t] * a[i - t]; y[i] = s; }",
        lambda a, b: np.concatenate(
            [[0, 0], np.convolve(a.ravel(), [0.5, 0.25, 0.125], "valid")]
        ),
        "static const float taps[3] = {0.5f, 0.25f, 0.125f};\n",
    ),
    "max_pool": Host(
        "for (int i = 0; i < rows / 2; ++i) for (int j = 0; j < cols / 3; ++j) { "
        "float m = a[2 * i * cols + 3 * j]; for (int p = 0; p < 2; ++p) for (int q = 0; q < 3; "
        "++q) m = std::fmax(m, a[(2 * i + p) * cols + 3 * j + q]); y[i * (cols / 3) + j] = m; }",
        lambda a, b: a.reshape(ROWS // 2, 2, COLS // 3, 3).max((1, 3)),
    ),
    "attention": Host(
        f"{_I}{{ float s[64], m = -1e30f, d = 0; for (int j = 0; j < rows; ++j) {{ s[j] = 0; "
        f"{_K}s[j] += a[i * cols + k] * b[j * cols + k]; m = std::max(m, s[j]); }} "
        "for (int j = 0; j < rows; ++j) { s[j] = std::exp(s[j] - m); d += s[j]; } "
        f"{_K}{{ float o = 0; for (int j = 0; j < rows; ++j) o += s[j] * b[j * cols + k]; "
        "y[i * cols + k] = o / d; } }",
        _attention,
    ),
    "online_log_sum": Host(
        f"{_I}{{ float m = a[i * cols], s = 1; for (int k = 1; k < cols; ++k) {{ "
        "float v = a[i * cols + k], w = std::max(m, v); "
        "s = s * std::exp(m - w) + std::exp(v - w); m = w; } y[i] = m + std::log(s); }",
        lambda a, b: np.log(np.exp(a).sum(1)),
    ),
    "most_from_the_end": Host(
        f"{_I}{{ float m = -1e30f; for (int k = cols - 1; k >= 0; --k) {{ "
        "if (a[i * cols + k] > m) m = a[i * cols + k]; y[i * cols + k] = m; } }",
        lambda a, b: np.maximum.accumulate(a[:, ::-1], 1)[:, ::-1],
    ),
    "four_sums": Host(
        f"{_I}{{ float s0 = 0, s1 = 0, s2 = 0, s3 = 0; int k = 0; for (; k + 3 < cols; k += 4) {{ "
        "s0 += a[i * cols + k] * b[k]; s1 += a[i * cols + k + 1] * b[k + 1]; "
        "s2 += a[i * cols + k + 2] * b[k + 2]; s3 += a[i * cols + k + 3] * b[k + 3]; } "
        "for (; k < cols; ++k) s0 += a[i * cols + k] * b[k]; y[i] = (s0 + s1) + (s2 + s3); }",
        lambda a, b: a @ b.ravel()[:COLS],
    ),
    "stepped": Host(
        "const float* p = a; float* q = y; const float* end = a + n - 1; "
        "while (p != end) { *q++ = 0.5f * (p[0] + p[1]); ++p; } *q = *p;",
        lambda a, b: np.append((a.ravel()[:-1] + a.ravel()[1:]) / 2, a.ravel()[-1]),
    ),
    "horner_double": Host(
        f"{_N}{{ double v = a[i], p = 0.1; for (int t = 0; t < 4; ++t) p = p * v + 0.5; "
        "y[i] = (float)p; }",
        lambda a, b: ((((0.1 * a + 0.5) * a + 0.5) * a + 0.5) * a + 0.5),
    ),
    "unit_rows": Host(
        f"{_I}{{ double s = 1e-12; {_K}s += (double)a[i * cols + k] * a[i * cols + k]; "
        f"const float r = (float)(1.0 / std::sqrt(s)); {_K}y[i * cols + k] = r * a[i * cols + k]; "
        "}",
        lambda a, b: a / np.sqrt((a * a).sum(1, keepdims=True) + 1e-12),
    ),
    "reverse_in_place": Host(
        f"{_N}y[i] = a[i]; for (int i = 0; i < n / 2; ++i) std::swap(y[i], y[n - 1 - i]);",
        lambda a, b: a.ravel()[::-1],
    ),
    "between": Host(
        "for (int i = 0; i < 20; ++i) { int r = i + 1 < 20 ? i + 1 : i; y[2 * i] = a[i]; "
        "y[2 * i + 1] = (a[i] + a[r]) / 2; }",
        lambda a, b: _twice(a),
    ),
    "momentum": Host(
        f"{_N}{{ float v = 0.9f * b[i] - 0.1f * a[i]; v = std::clamp(v, -0.5f, 0.5f); "
        "y[i] = a[i] + v; }",
        lambda a, b: a + (0.9 * b - 0.1 * a).clip(-0.5, 0.5),
    ),
    "distances": Host(
        f"{_I}for (int j = 0; j < rows; ++j) y[i * rows + j] = distance(a + i * cols, "
        "b + j * cols, cols);",
        lambda a, b: np.sqrt(((a[:, None] - b[None]) ** 2).sum(2)),
        "static float distance(const float* p, const float* q, int n) { float s = 0; "
        "for (int k = 0; k < n; ++k) { float d = *p++ - *q++; s += d * d; } "
        "return std::sqrt(s); }\n",
    ),
    "transpose_blocked": Host(
        "for (int ii = 0; ii < rows; ii += 4) for (int jj = 0; jj < cols; jj += 4) "
        "for (int i = ii; i < std::min(ii + 4, rows); ++i) "
        "for (int j = jj; j < std::min(jj + 4, cols); ++j) y[j * rows + i] = a[i * cols + j];",
        lambda a, b: a.T,
    ),
    "continues": Host(
        f"{_N}{{ if (a[i] > 0) {{ y[i] = a[i]; continue; }} if (b[i] < 0) continue; "
        "y[i] = 0.01f * a[i]; }",
        lambda a, b: np.where(a > 0, a, np.where(b < 0, 0, 0.01 * a)),
    ),
    "cosines": Host(
        f"for (int i = 0; i < cols; ++i) {{ float s = 0; {_K}"
        "s += a[k] * std::cos(3.14159265f * (k + 0.5f) * i / cols); y[i] = s; }",
        lambda a, b: np.cos(
            np.pi * (np.arange(COLS) + 0.5) * np.arange(COLS)[:, None] / COLS
        ) @ a[0],
    ),
}  # fmt: skip

_NAMES = "a, b, y, n, rows, cols"
_LOOP = re.compile(r"for \(int (\w+) = 0; \1 < (\w+); \+\+\1\)")


def _into(before: str, call: str) -> Callable[[str], str]:
    def respelled(source: str) -> str:
        inner = HEAD.replace("void f", "void work")
        if "template" in before:
            inner = inner.replace("float*", "T*")
        return source.replace(HEAD, f"{before}{inner}") + f"{HEAD}{{ {call}({_NAMES}); }}\n"

    return respelled


def _in_lambda(source: str) -> str:
    start, _, rest = source.partition(HEAD)
    return f"{start}{HEAD}{{ auto work = [&]() {rest.strip()}; work(); }}\n"


def _moved_pointers(source: str) -> str:
    made = re.sub(r"(?<!\w)a\[", "a[-1 + ", re.sub(r"(?<!\w)b\[", "b[1 + ", source))
    return (
        source
        if made == source or "a +" in source
        else made.replace(HEAD + "{", HEAD + "{ ++a; --b;")
    )


def _with_row(source: str) -> str:
    if source.count("a[i * cols + k]") == 0:
        return source
    made = source.replace("a[i * cols + k]", "row_of(a, i, cols)[k]")
    return made.replace(
        HEAD,
        "static const float* row_of(const float* x, int r, int c) { return x + r * c; }\n" + HEAD,
    )


def _whiles(source: str) -> str:
    """Loops with braces as `while`."""
    if "continue" in source:
        return source
    found = re.search(_LOOP.pattern + r" \{", source)
    if found is None:
        return source
    depth, at = 1, found.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(source[at], 0)
        at += 1
    name, bound = found[1], found[2]
    loop = f"{{ int {name} = 0; while ({name} < {bound}) {{{source[found.end() : at - 1]}"
    return _whiles(f"{source[: found.start()]}{loop}++{name}; }} }}{source[at:]}")


HOST_RESPELLINGS: dict[str, Callable[[str], str]] = {
    "typedef": lambda s: "typedef float real;\n" + re.sub(r"\bfloat\b", "real", s),
    "size_t": lambda s: _LOOP.sub(r"for (size_t \1 = 0; \1 < (size_t)\2; ++\1)", s),
    "auto": lambda s: _LOOP.sub(r"for (auto \1 = 0l; \1 < \2; \1++)", s),
    "macro": lambda s: "#define LOOP(v, m) for (int v = 0; v < m; ++v)\n"
    + _LOOP.sub(r"LOOP(\1, \2)", s),
    "swapped product": lambda s: s.replace("i * cols", "cols * i"),
    "bound first": lambda s: _LOOP.sub(r"for (int \1 = 0; \2 > \1; \1 += 1)", s),
    "not equal": lambda s: _LOOP.sub(r"for (int \1 = 0; \1 != \2; ++\1)", s),
    "last inside": lambda s: _LOOP.sub(r"for (int \1 = 0; \1 <= \2 - 1; ++\1)", s),
    "while": _whiles,
    "helper": _into("static ", "work"),
    "template": _into("template <typename T> ", "work<float>"),
    "lambda": _in_lambda,
    "pointer offset": _moved_pointers,
    "row pointer": _with_row,
    "restrict and OpenMP": lambda s: s.replace(
        "float*", "float* __restrict__"
    ).replace(HEAD.replace("float*", "float* __restrict__") + "{", HEAD.replace(
        "float*", "float* __restrict__") + "{\n#pragma omp parallel for schedule(static)\n", 1)
    if re.search(re.escape(HEAD) + r"\{ for", s) else s,
}  # fmt: skip
"""rules that give a function another spelling; one that changes nothing does not count"""
