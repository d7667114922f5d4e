"""Triton kernels of the usual kinds."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * cols + at, powers / tl.sum(powers, axis=0), mask=at < cols)


@triton.jit
def online_softmax(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = -float("inf")
    total = 0.0
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        values = tl.load(x + row * cols + at, mask=at < cols, other=-float("inf"))
        larger = tl.maximum(largest, tl.max(values, axis=0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(values - larger), axis=0)
        largest = larger
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        values = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        tl.store(y + row * cols + at, tl.exp(values - largest) / total, mask=at < cols)


@triton.jit
def layer_norm(x, weight, bias, y, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32) - mean
        squares += tl.where(at < cols, v * v, 0.0)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)
    for first in range(0, cols, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < cols
        v = (tl.load(x + row * cols + at, mask=inside).to(tl.float32) - mean) * scale
        w, b = tl.load(weight + at, mask=inside), tl.load(bias + at, mask=inside)
        tl.store(y + row * cols + at, v * w + b, mask=inside)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    at_m = tl.program_id(0) * BM + tl.arange(0, BM)
    at_n = tl.program_id(1) * BN + tl.arange(0, BN)
    at_k = tl.arange(0, BK)
    a_tile = a + at_m[:, None] * K + at_k[None, :]
    b_tile = b + at_k[:, None] * N + at_n[None, :]
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a_tile, mask=at_k[None, :] < K - k, other=0.0)
        right = tl.load(b_tile, mask=at_k[:, None] < K - k, other=0.0)
        sums = tl.dot(left, right, sums)
        a_tile += BK
        b_tile += BK * N
    tl.store(c + at_m[:, None] * N + at_n[None, :], sums.to(c.dtype.element_ty))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_map = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_map = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    c_map = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a_map.load([m, k]), b_map.load([k, n]), sums)
    c_map.store([m, n], sums.to(tl.float16))


@triton.jit
def attention(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    at_m = tl.program_id(0) * BM + tl.arange(0, BM)
    at_d = tl.arange(0, D)
    queries = tl.load(q + at_m[:, None] * D + at_d[None, :])
    largest = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    sums = tl.zeros((BM, D), dtype=tl.float32)
    for first in range(0, n, BN):
        at_n = first + tl.arange(0, BN)
        keys = tl.load(k + at_n[None, :] * D + at_d[:, None])
        scores = tl.dot(queries, keys) * scale
        larger = tl.maximum(largest, tl.max(scores, 1))
        powers = tl.exp2(scores - larger[:, None])
        fade = tl.exp2(largest - larger)
        values = tl.load(v + at_n[:, None] * D + at_d[None, :])
        sums = tl.dot(powers.to(tl.float16), values, sums * fade[:, None])
        total = total * fade + tl.sum(powers, 1)
        largest = larger
    tl.store(out + at_m[:, None] * D + at_d[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(bins + values, 1, mask=at < n)


@triton.jit
def transpose(x, y, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + r[:, None] * cols + c[None, :])
    tl.store(y + c[:, None] * rows + r[None, :], tl.trans(tile))


@triton.jit
def scan(x, y, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * cols + tl.arange(0, BLOCK)
    tl.store(y + at, tl.associative_scan(tl.load(x + at), 0, _plus))


@triton.jit
def _plus(a, b):
    return a + b
