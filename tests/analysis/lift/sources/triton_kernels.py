"""Triton kernels for tests of lifting; as a program, their TTIR as JSON on stdout.

Triton compiles to TTIR without a GPU. The tests run this in a process of its own, as a library that
nothing else in a test loads.
"""

from __future__ import annotations

import json
from typing import Any

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend


@triton.jit
def squared(v):
    return v * v


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, o, n, B: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + r * n + c, e / tl.sum(e, 0), mask=c < n)


@triton.jit
def normalised(x, o, mean, n, eps, B: tl.constexpr):
    r = tl.program_id(0)
    x += r * n
    o += r * n
    total = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        total += tl.load(x + c, mask=c < n, other=0.0)
    mu = tl.sum(total, 0) / n
    spread = tl.zeros([B], tl.float32)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        spread += squared(tl.where(c < n, tl.load(x + c, mask=c < n, other=0.0) - mu, 0.0))
    scale = 1 / tl.sqrt(tl.sum(spread, 0) / n + eps)
    tl.store(mean + r, mu)
    for off in range(0, n, B):
        c = off + tl.arange(0, B)
        tl.store(o + c, (tl.load(x + c, mask=c < n) - mu) * scale, mask=c < n)


@triton.jit
def product(a, b, o, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    left = a + rm[:, None] * K + rk[None, :]
    right = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        one = tl.load(left, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        other = tl.load(right, mask=rk[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(one, other)
        left += BK
        right += BK * N
    inside = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(o + rm[:, None] * N + rn[None, :], acc, mask=inside)


@triton.jit
def prefixes(x, o, n, B: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=0.0)
    tl.store(o + r * n + c, tl.cumsum(v, 0), mask=c < n)


@triton.jit
def added_up(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


@triton.jit
def turned(x, o, rows, cols, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
    inside = (c[:, None] < cols) & (r[None, :] < rows)
    tl.store(o + c[:, None] * rows + r[None, :], tl.trans(v), mask=inside)


@triton.jit
def place_of_most(x, o, n, B: tl.constexpr):
    r, c = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=-float("inf"))
    tl.store(o + r, tl.argmax(v, 0).to(tl.float32))


@triton.jit
def described(x, o, rows, cols, B: tl.constexpr):
    given = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [B, B])
    made = tl.make_tensor_descriptor(o, [rows, cols], [cols, 1], [B, B])
    r, c = tl.program_id(0) * B, tl.program_id(1) * B
    made.store([r, c], given.load([r, c]) + 1.0)


@triton.jit
def exchanged(x, o, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    pair = 2 * at[:, None] + tl.arange(0, 2)[None, :]
    even, odd = tl.split(tl.load(x + pair, mask=at[:, None] < n, other=0.0))
    tl.store(o + pair, tl.join(odd, even), mask=at[:, None] < n)


@triton.jit
def returning(x, o, n, B: tl.constexpr):
    if tl.program_id(0) * B >= n:
        return
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.load(x + at, mask=at < n), mask=at < n)


F, N = "*fp32", "i32"
KERNELS: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "add": (add, {"x": F, "y": F, "o": F, "n": N}, {"B": 64}),
    "softmax": (softmax, {"x": F, "o": F, "n": N}, {"B": 32}),
    "normalised": (
        normalised,
        {"x": F, "o": F, "mean": F, "n": N, "eps": "fp32"},
        {"B": 8},
    ),
    "product": (
        product,
        {"a": F, "b": F, "o": F, "M": N, "N": N, "K": N},
        {"BM": 16, "BN": 32, "BK": 16},
    ),
    "prefixes": (prefixes, {"x": F, "o": F, "n": N}, {"B": 32}),
    "added_up": (added_up, {"x": F, "o": F, "n": N}, {"B": 64}),
    "turned": (turned, {"x": F, "o": F, "rows": N, "cols": N}, {"B": 16}),
    "described": (described, {"x": F, "o": F, "rows": N, "cols": N}, {"B": 16}),
    "exchanged": (exchanged, {"x": F, "o": F, "n": N}, {"B": 16}),
    "returning": (returning, {"x": F, "o": F, "n": N}, {"B": 16}),
    "place_of_most": (place_of_most, {"x": F, "o": F, "n": N}, {"B": 32}),
}
"""a function, the types of its arguments, and its constants"""


def ttir(function: Any, signature: dict[str, str], constants: dict[str, int]) -> str:
    """The kernel in Triton's own form, helpers inlined."""
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({})
    source = ASTSource(function, signature | dict.fromkeys(constants, "constexpr"), constants)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    generator = backend.get_codegen_implementation(options)
    module = source.make_ir(target, options, generator, backend.get_module_map(), context)
    return str(backend.make_ttir(module, {}, options, 90))


def main() -> None:
    """Print the text and the names and types of the arguments of every kernel."""
    print(json.dumps({name: [ttir(*each), each[1]] for name, each in KERNELS.items()}))


if __name__ == "__main__":
    main()
