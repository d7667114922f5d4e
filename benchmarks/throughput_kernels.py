"""Kernels with many variants for `eval_throughput.py`: each point of a grid is other code."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from environment import ROOT

Point = dict[str, int]

SGEMM = """\
// C = A B for row-major float matrices: a block computes BM x BN of C, a thread TM x TN of them.
#ifndef BM
#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4
#define UNROLL 4
#endif

extern "C" __global__ void __launch_bounds__((BM / TM) * (BN / TN))
sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    constexpr int threads = (BM / TM) * (BN / TN);
    constexpr int unrolled = UNROLL;  // not every compiler expands macros in a pragma
    __shared__ float a[BK][BM];
    __shared__ float b[BK][BN];
    const int row = threadIdx.x / (BN / TN), col = threadIdx.x % (BN / TN);
    const int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
    float sums[TM][TN] = {};
    for (int k = 0; k < K; k += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads) {
            const int r = first_row + i / BK, c = k + i % BK;
            a[i % BK][i / BK] = r < M && c < K ? A[(size_t)r * K + c] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += threads) {
            const int r = k + i / BN, c = first_col + i % BN;
            b[i / BN][i % BN] = r < K && c < N ? B[(size_t)r * N + c] : 0.0f;
        }
        __syncthreads();
#pragma unroll unrolled
        for (int t = 0; t < BK; ++t) {
            float x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) x[i] = a[t][row * TM + i];
#pragma unroll
            for (int j = 0; j < TN; ++j) y[j] = b[t][col * TN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sums[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int r = first_row + row * TM + i, c = first_col + col * TN + j;
            if (r < M && c < N) C[(size_t)r * N + c] = sums[i][j];
        }
}
"""
SGEMM_LAUNCH = {
    "grid": ["cdiv(N, BN)", "cdiv(M, BM)"],
    "block": ["(BM // TM) * (BN // TN)"],
}
SGEMM_VALUES = {
    "BM": (64, 32, 128),
    "BN": (64, 32, 128),
    "BK": (8, 16, 32),
    "TM": (4, 2, 8),
    "TN": (4, 2, 8),
    "UNROLL": (4, 1),
}
MATMUL_VALUES = {
    "BLOCK_M": (64, 32, 128),
    "BLOCK_N": (64, 32, 128, 256),
    "BLOCK_K": (32, 64),
    "GROUP_M": (1, 8),
    "num_warps": (4, 8),
    "num_stages": (3, 2, 4),
}
HOST_VALUES = {
    "ORDER": (1, 0),
    "TILE": (0, 4, 8, 16, 32),
    "UNROLL": (1, 2, 4, 8),
    "THREADS": (1, 2),
}


def triton_matmul(size: int) -> dict[str, Any]:
    """examples/triton_matmul on one square workload."""
    return _example("triton_matmul", "matmul.py", size, MATMUL_VALUES)


def cuda_sgemm(size: int) -> dict[str, Any]:
    """examples/cuda_sgemm with the kernel above, on one square workload."""
    spec = _example("cuda_sgemm", "sgemm.cu", size, SGEMM_VALUES)
    spec["kernel"] |= {"source_code": SGEMM, "launch": SGEMM_LAUNCH}
    return spec


def host_matmul(size: int) -> dict[str, Any]:
    """examples/matmul on one square workload."""
    return _example("matmul", "matmul.cpp", size, HOST_VALUES)


SPECS = {"triton": triton_matmul, "cuda": cuda_sgemm, "host": host_matmul}
VALUES = {"triton": MATMUL_VALUES, "cuda": SGEMM_VALUES, "host": HOST_VALUES}


def points(kind: str, count: int) -> list[Point]:
    """So many different legal points of a grid, in an order of no meaning, without the defaults."""
    values = VALUES[kind]
    rows = itertools.product(*values.values())
    every = [dict(zip(values, row, strict=True)) for row in rows][1:]
    legal = [point for point in every if LEGAL[kind](point)]
    return random.Random(20251122).sample(legal, min(count, len(legal)))


def _matmul_fits(p: Mapping[str, int]) -> bool:
    """Tiles that fit into shared memory, and into the registers of their warps without spills."""
    shared = 2 * p["num_stages"] * p["BLOCK_K"] * (p["BLOCK_M"] + p["BLOCK_N"])
    return shared <= 200_000 and p["BLOCK_M"] * p["BLOCK_N"] <= 4096 * p["num_warps"]


def _sgemm_fits(p: Mapping[str, int]) -> bool:
    threads = (p["BM"] // p["TM"]) * (p["BN"] // p["TN"])
    return 64 <= threads <= 512 and 4 * p["BK"] * (p["BM"] + p["BN"]) <= 48 << 10


def _host_fits(p: Mapping[str, int]) -> bool:
    return p["TILE"] == 0 or p["UNROLL"] <= p["TILE"]


LEGAL = {"triton": _matmul_fits, "cuda": _sgemm_fits, "host": _host_fits}


def _example(
    folder: str, source: str, size: int, values: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    spec = json.loads((ROOT / "examples" / folder / "spec.json").read_text(encoding="utf-8"))
    code = (ROOT / "examples" / folder / source).read_text(encoding="utf-8")
    reference = (ROOT / "examples" / folder / "reference.py").read_text(encoding="utf-8")
    spec["kernel"].pop("source_path")
    return spec | {
        "kernel": spec["kernel"] | {"source_code": code},
        "reference": {"source_code": reference},
        "workloads": [{"name": "square", "symbols": dict.fromkeys("MNK", size)}],
        "parameters": {n: {"values": sorted(v), "default": v[0]} for n, v in values.items()},
        "constraints": [],
    }
