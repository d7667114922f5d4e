"""Products of matrices in tiles of shared memory, as people write them, for tests of CUDA moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from cuda_moves import Array, array, cuda_state, scalar

from kernelwright.search.moves import State

SIZES: dict[str, Any] = {s: {"min": 1, "max": 512} for s in "MNK"}
T = 8
"""rows and columns of a tile"""
TILED = f"""\
#define T {T}
// c = a b
extern "C" __global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
    __shared__ float As[T][T];
    __shared__ float Bs[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y;
    int col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + T - 1) / T; ++t) {{
        // tiles
        As[threadIdx.y][threadIdx.x] =
            (row < M && t * T + threadIdx.x < K) ? A[row * K + t * T + threadIdx.x] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] =
            (t * T + threadIdx.y < K && col < N) ? B[(t * T + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}
"""
STEPPED = f"""\
#define T {T}
extern "C" __global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {{
    const int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    __shared__ float As[T * T], Bs[T * T];
    A += by * T * K;
    B += bx * T;
    float acc = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {{
        float a = 0.0f;
        if (by * T + ty < M && k0 + tx < K) a = A[ty * K + tx];
        As[ty * T + tx] = a;
        if (bx * T + tx < N && k0 + ty < K) {{ Bs[ty * T + tx] = B[ty * N + tx]; }}
        else {{ Bs[ty * T + tx] = 0.0f; }}
        __syncthreads();
        A += T;
        B += T * N;
#pragma unroll
        for (int k = 0; k < T; ++k) {{
            acc += As[ty * T + k] * Bs[k * T + tx];
        }}
        __syncthreads();
    }}
    if (by * T + ty < M && bx * T + tx < N) C[(by * T + ty) * N + bx * T + tx] = acc;
}}
"""
PLAIN = """\
extern "C" __global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    int col = threadIdx.x + blockIdx.x * blockDim.x, row = threadIdx.y + blockIdx.y * blockDim.y;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""
SOURCES = {"tiles": TILED, "stepped pointers": STEPPED, "no tiles": PLAIN}


def product(source: str, launch: Mapping[str, Any] | None = None, **more: Any) -> State:
    """C[M, N] = A[M, K] B[K, N] by a kernel `mm`, a block a tile."""
    arguments = [
        array("A", "input", "M", "K"),
        array("B", "input", "K", "N"),
        array("C", "output", "M", "N"),
        *(scalar(s) for s in "MNK"),
    ]
    usual = {"grid": [f"cdiv(N, {T})", f"cdiv(M, {T})"], "block": [T, T]}
    return cuda_state(source, "mm", arguments, dict(launch or usual), SIZES, **more)


def runs(*sizes: tuple[int, int, int]) -> Iterator[tuple[Mapping[str, int], Mapping[str, Array]]]:
    """Sizes M, N, K, and matrices of them."""
    for number, (m, n, k) in enumerate(sizes):
        random = np.random.default_rng(number)
        a, b = (random.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
        yield {"M": m, "N": n, "K": k}, {"A": a, "B": b}


def right(inputs: Mapping[str, Array]) -> Array:
    """What a product must be, flat, of 64 bits."""
    return (inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)).ravel()
