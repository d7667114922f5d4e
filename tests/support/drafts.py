"""Kernels without `io`, in C and C++, and specs of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.specs.spec import KernelSpec

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
LAUNCH: dict[str, Any] = {"grid": [8], "block": [128]}


def cuda(source: str, launch: object = LAUNCH, **spec: Any) -> dict[str, Any]:
    kernel = {"kernel_type": "cuda", "source_code": source, "metadata": {"kernel_name": "k"}}
    return {"name": "k", "kernel": kernel | ({"launch": launch} if launch else {}), **spec}


def load(data: dict[str, Any]) -> KernelSpec:
    return load_data(data, Path("/"), Roots([])).spec


HOST = """
static void helper(float* x) { x[0] = 1; }
void scale(const float* x, float* y, double factor, int n) {
  for (int i = 0; i < n; ++i) y[i] = factor * x[i];
}
int main() { return 0; }
"""
