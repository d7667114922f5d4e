"""A CUDA source with two kernels, and what its builds must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import Artifact
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains import BuildOutcome
from kernelwright.runners.toolchains.cuda_request import present

HERE = present()
MISSING = {
    "nvrtc": "no cuda.bindings with a libnvrtc here",
    "nvcc": "no nvcc with a g++ here",
}
nvrtc = pytest.mark.skipif("nvrtc" not in HERE, reason=MISSING["nvrtc"])
nvcc = pytest.mark.skipif("nvcc" not in HERE, reason=MISSING["nvcc"])
both = [pytest.param("nvrtc", marks=nvrtc), pytest.param("nvcc", marks=nvcc)]

SOURCE = """
#include <cuda_fp16.h>

__constant__ float weights[4];
namespace ns { __device__ int calls; }

template <class T, int B>
__global__ void reduce(const T* x, T* part, int n) {
  __shared__ T s[B];
  int i = blockIdx.x * B + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] * (T)weights[i & 3] : T(0);
  __syncthreads();
  for (int h = B / 2; h; h /= 2) {
    if (threadIdx.x < h) s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (!threadIdx.x) part[blockIdx.x] = s[0];
}

namespace ns {
__global__ void last(const float* part, float* y, int m) {
  float t = 0;
  for (int i = threadIdx.x; i < m; i += STEP) t += part[i];
  atomicAdd(y, t);
  calls = m;
}
}
"""
PLAN: dict[str, Any] = {
    "buffers": {"part": {"dtype": "float32", "shape": ["cdiv(n, 256)"]}},
    "setup": [
        {"set": "weights", "value": [1, 1, 1, 1], "dtype": "float32"},
        {"set": "ns::calls", "in": "ns::last", "value": 0},
    ],
    "steps": [
        {"fill": "y"},
        {
            "launch": "reduce<float, block_x>",
            "grid": "cdiv(n, block_x)",
            "block": 256,
            "args": ["x", "part", "n"],
        },
        {
            "launch": "ns::last",
            "grid": 1,
            "block": ["STEP"],
            "args": ["part", "y", {"value": "cdiv(n, 256)"}],
        },
    ],
}
SHAPES = {"w": 100_000, "odd": 77}
H100 = PROFILES[0][0]
Build = Callable[..., BuildOutcome]


def data(math: str, **kernel: Any) -> dict[str, Any]:
    return {
        "name": "total",
        "kernel": {"kernel_type": "cuda", "source_code": SOURCE, "plan": PLAN}
        | {"metadata": {"kernel_name": "reduce"}}
        | kernel,
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": [1]},
            ],
            "math": math,
        },
        "symbols": {"n": None},
        "workloads": [{"name": "w", "symbols": {"n": SHAPES["w"]}}],
        "parameters": {"STEP": {"values": [32, 64]}},
        "reference": "baseline",
    }


def with_compiler(name: str, *flags: str) -> BuildOptions:
    return BuildOptions(compiler=name, flags=flags or None)


def artifact_of(outcome: BuildOutcome) -> Artifact:
    assert outcome.artifact is not None, outcome.message
    return outcome.artifact


def failed(outcome: BuildOutcome) -> str:
    assert outcome.artifact is None and not outcome.rejected
    return outcome.message
