"""Plain Triton kernels with a poor algorithm each, with a spec and the truth in numpy.

DEVELOPED is what the Triton schedules were written on. HELD_OUT was written with it, before
any schedule, and first looked at by `triton_rewrites.py` when they were done. Half are launched by
their spec, half by a Python function of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

IMPORTS = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
NUMPY = "import numpy as np\n\n\n"


@dataclass(frozen=True)
class PlainKernel:
    """A kernel: its source without imports, what its spec says of it, and the truth."""

    entry: str
    source: str
    arguments: tuple[dict[str, Any], ...]
    symbols: Mapping[str, int]
    """the largest legal value of each; a workload has a quarter of it"""
    truth: str
    launch: dict[str, Any] | None = None

    def spec(self, name: str) -> dict[str, Any]:
        """As a spec is written."""
        kernel: dict[str, Any] = {
            "kernel_type": "triton",
            "source_code": IMPORTS + self.source,
            "metadata": {"kernel_name": self.entry},
        }
        if self.launch is not None:
            kernel["launch"] = self.launch
        return {
            "name": name,
            "kernel": kernel,
            "io": {"arguments": list(self.arguments)},
            "symbols": {n: {"min": 1, "max": most} for n, most in self.symbols.items()},
            "workloads": [
                {"name": "main", "symbols": {n: most // 4 for n, most in self.symbols.items()}}
            ],
            "reference": {"source_code": NUMPY + self.truth},
        }


def _input(name: str, *shape: str | int, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "role": "input", "dtype": dtype, "shape": [*shape], "init": "randn"}


def _output(name: str, *shape: str | int, dtype: str = "float32") -> dict[str, Any]:
    return {"name": name, "role": "output", "dtype": dtype, "shape": [*shape]}


def _size(name: str, value: str | int | None = None) -> dict[str, Any]:
    value = name if value is None else value
    return {"name": name, "role": "scalar", "dtype": "int32", "value": value}


ROWS_COLS = {"rows": 4096, "cols": 4096}

DEVELOPED: Mapping[str, PlainKernel] = {
    "row_sum_by_scalars": PlainKernel(
        "row_sum",
        """\
@triton.jit
def row_sum(x, y, cols):
    row = tl.program_id(0)
    total = 0.0
    for k in range(cols):
        total += tl.load(x + row * cols + k)
    tl.store(y + row, total)
""",
        (_input("x", "rows", "cols"), _output("y", "rows"), _size("cols")),
        ROWS_COLS,
        "def reference(x, cols):\n    return x.sum(axis=1)\n",
        {"grid": ["rows"]},
    ),
    "one_element_a_program": PlainKernel(
        "squash",
        """\
@triton.jit
def squash_kernel(x, y, n):
    at = tl.program_id(0)
    v = tl.load(x + at)
    tl.store(y + at, v / (1.0 + tl.abs(v)))


def squash(x):
    y = torch.empty_like(x)
    n = x.numel()
    squash_kernel[(n,)](x, y, n)
    return y
""",
        (_input("x", "n"), _output("y", "n")),
        {"n": 1 << 24},
        "def reference(x):\n    return x / (1 + np.abs(x))\n",
    ),
    "column_sum_by_columns": PlainKernel(
        "column_sum",
        """\
@triton.jit
def column_sum(x, y, rows, cols, BLOCK: tl.constexpr):
    col = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, rows, BLOCK):
        r = start + tl.arange(0, BLOCK)
        total += tl.load(x + r * cols + col, mask=r < rows, other=0.0)
    tl.store(y + col, tl.sum(total, axis=0))
""",
        (_input("x", "rows", "cols"), _output("y", "cols"), _size("rows"), _size("cols")),
        ROWS_COLS,
        "def reference(x, rows, cols):\n    return x.sum(axis=0)\n",
        {"grid": ["cols"], "constexprs": {"BLOCK": 128}},
    ),
    "product_by_sums": PlainKernel(
        "product",
        """\
@triton.jit
def product_kernel(a, b, c, m, n, k, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for p in range(k):
        total += tl.load(a + i * k + p) * tl.load(b + p * n + j, mask=j < n, other=0.0)
    tl.store(c + i * n + j, total, mask=j < n)


def product(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    product_kernel[(m, triton.cdiv(n, 64))](a, b, c, m, n, k, BLOCK=64)
    return c
""",
        (_input("a", "m", "k"), _input("b", "k", "n"), _output("c", "m", "n")),
        {"m": 2048, "n": 2048, "k": 2048},
        "def reference(a, b):\n    return a @ b\n",
    ),
    "softmax_in_three_passes": PlainKernel(
        "softmax",
        """\
@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * cols
    y += row * cols
    most = -float("inf")
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf"))
        most = tl.maximum(most, tl.max(v, axis=0))
    total = 0.0
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols, other=-float("inf"))
        total += tl.sum(tl.exp(v - most), axis=0)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        v = tl.load(x + at, mask=at < cols)
        tl.store(y + at, tl.exp(v - most) / total, mask=at < cols)
""",
        (_input("x", "rows", "cols"), _output("y", "rows", "cols"), _size("cols")),
        {"rows": 16384, "cols": 16384},
        "def reference(x, cols):\n"
        "    e = np.exp(x - x.max(axis=1, keepdims=True))\n"
        "    return e / e.sum(axis=1, keepdims=True)\n",
        {"grid": ["rows"], "constexprs": {"BLOCK": 128}},
    ),
    "transpose_by_places": PlainKernel(
        "transposed",
        """\
@triton.jit
def turn(x, y, rows, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < rows * cols
    row, col = at // cols, at % cols
    tl.store(y + col * rows + row, tl.load(x + at, mask=inside), mask=inside)


def transposed(x):
    rows, cols = x.shape
    y = torch.empty((cols, rows), device=x.device, dtype=x.dtype)
    grid = lambda meta: (triton.cdiv(rows * cols, meta["BLOCK"]),)
    turn[grid](x, y, rows, cols, BLOCK=256)
    return y
""",
        (_input("x", "rows", "cols"), _output("y", "cols", "rows")),
        ROWS_COLS,
        "def reference(x):\n    return np.ascontiguousarray(x.T)\n",
    ),
}

HELD_OUT: Mapping[str, PlainKernel] = {
    "layernorm_reads_thrice": PlainKernel(
        "layernorm",
        """\
@triton.jit
def norm_kernel(src, gain, shift, dst, width, eps, CHUNK: tl.constexpr):
    base = tl.program_id(0) * width
    acc = tl.zeros([CHUNK], dtype=tl.float32)
    for off in range(0, width, CHUNK):
        c = off + tl.arange(0, CHUNK)
        acc += tl.load(src + base + c, mask=c < width, other=0.0)
    mean = tl.sum(acc, axis=0) / width
    acc = tl.zeros([CHUNK], dtype=tl.float32)
    for off in range(0, width, CHUNK):
        c = off + tl.arange(0, CHUNK)
        d = tl.where(c < width, tl.load(src + base + c, mask=c < width, other=0.0) - mean, 0.0)
        acc += d * d
    scale = 1 / tl.sqrt(tl.sum(acc, axis=0) / width + eps)
    for off in range(0, width, CHUNK):
        c = off + tl.arange(0, CHUNK)
        inside = c < width
        d = (tl.load(src + base + c, mask=inside) - mean) * scale
        w, b = tl.load(gain + c, mask=inside), tl.load(shift + c, mask=inside)
        tl.store(dst + base + c, d * w + b, mask=inside)


def layernorm(src, gain, shift):
    dst = torch.empty_like(src)
    tokens, width = src.shape
    norm_kernel[(tokens,)](src, gain, shift, dst, width, 1e-5, CHUNK=64)
    return dst
""",
        (
            _input("src", "tokens", "width"),
            _input("gain", "width"),
            _input("shift", "width"),
            _output("dst", "tokens", "width"),
        ),
        {"tokens": 8192, "width": 8192},
        "def reference(src, gain, shift):\n"
        "    d = src - src.mean(axis=1, keepdims=True)\n"
        "    return d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5) * gain + shift\n",
    ),
    "half_product_by_rows": PlainKernel(
        "gemm_nt",
        """\
@triton.jit
def gemm_nt(a, b, c, M, N, K, stride_a, stride_b, stride_c, BLOCK_K: tl.constexpr):
    i = tl.program_id(1)
    j = tl.program_id(0)
    acc = tl.zeros((BLOCK_K,), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + i * stride_a + k, mask=k < K, other=0.0)
        right = tl.load(b + j * stride_b + k, mask=k < K, other=0.0)
        acc += left.to(tl.float32) * right.to(tl.float32)
    tl.store(c + i * stride_c + j, tl.sum(acc, axis=0).to(tl.float16))
""",
        (
            _input("a", "M", "K", dtype="float16"),
            _input("b", "N", "K", dtype="float16"),
            _output("c", "M", "N", dtype="float16"),
            _size("M"),
            _size("N"),
            _size("K"),
            _size("stride_a", "K"),
            _size("stride_b", "K"),
            _size("stride_c", "N"),
        ),
        {"M": 2048, "N": 2048, "K": 2048},
        "def reference(a, b, **sizes):\n    return a @ b.T\n",
        {"grid": ["N", "M"], "constexprs": {"BLOCK_K": 64}},
    ),
    "column_greatest": PlainKernel(
        "greatest",
        """\
@triton.jit
def greatest_kernel(x_ptr, out_ptr, n_rows, n_cols):
    col = tl.program_id(axis=0)
    best = tl.load(x_ptr + col)
    for r in range(1, n_rows):
        v = tl.load(x_ptr + r * n_cols + col)
        best = tl.where(v > best, v, best)
    tl.store(out_ptr + col, best)


def greatest(x):
    n_rows, n_cols = x.shape
    out = torch.empty(n_cols, device=x.device, dtype=x.dtype)
    greatest_kernel[(n_cols,)](x, out, n_rows, n_cols)
    return out
""",
        (_input("x", "n_rows", "n_cols"), _output("out", "n_cols")),
        {"n_rows": 4096, "n_cols": 4096},
        "def reference(x):\n    return x.max(axis=0)\n",
    ),
    "heads_before_tokens": PlainKernel(
        "to_heads",
        """\
@triton.jit
def to_heads_kernel(src, dst, T, H, D: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    d = tl.arange(0, D)
    value = tl.load(src + ((b * T + t) * H + h) * D + d)
    tl.store(dst + ((b * H + h) * T + t) * D + d, value)


def to_heads(src):
    B, T, H, D = src.shape
    dst = torch.empty((B, H, T, D), device=src.device, dtype=src.dtype)
    to_heads_kernel[(T, H, B)](src, dst, T, H, D=64)
    return dst
""",
        (_input("src", "B", "T", "H", 64), _output("dst", "B", "H", "T", 64)),
        {"B": 32, "T": 4096, "H": 32},
        "def reference(src):\n    return np.ascontiguousarray(src.transpose(0, 2, 1, 3))\n",
    ),
    "place_of_the_greatest": PlainKernel(
        "argmax",
        """\
@triton.jit
def argmax(x, out, cols):
    row = tl.program_id(0)
    best, place = tl.load(x + row * cols), 0
    for k in range(1, cols):
        v = tl.load(x + row * cols + k)
        better = v > best
        best = tl.where(better, v, best)
        place = tl.where(better, k, place)
    tl.store(out + row, place)
""",
        (_input("x", "rows", "cols"), _output("out", "rows", dtype="int32"), _size("cols")),
        ROWS_COLS,
        "def reference(x, cols):\n    return x.argmax(axis=1).astype(np.int32)\n",
        {"grid": ["rows"]},
    ),
    "bias_and_gelu_down_columns": PlainKernel(
        "bias_gelu",
        """\
@triton.jit
def bias_gelu(x, bias, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)[None, :]
    c = tl.program_id(1) * BC + tl.arange(0, BC)[:, None]
    inside = (r < rows) & (c < cols)
    v = tl.load(x + r * cols + c, mask=inside) + tl.load(bias + c, mask=c < cols)
    out = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))
    tl.store(y + r * cols + c, out, mask=inside)
""",
        (
            _input("x", "rows", "cols"),
            _input("bias", "cols"),
            _output("y", "rows", "cols"),
            _size("rows"),
            _size("cols"),
        ),
        ROWS_COLS,
        "from math import erf\n\n\n"
        "def reference(x, bias, rows, cols):\n"
        "    v = x + bias\n"
        "    return 0.5 * v * (1 + np.vectorize(erf)(v * 0.7071067811865476))\n",
        {"grid": ["cdiv(rows, 16)", "cdiv(cols, 16)"], "constexprs": {"BR": 16, "BC": 16}},
    ),
}
