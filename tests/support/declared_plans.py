"""Specs that declare launches, and a contract of theirs."""

from __future__ import annotations

from typing import Any

from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.plans.plan import Launch, LaunchPlan
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.spec import KernelSpec

ARGUMENTS = [
    {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
    {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
    {"name": "a", "role": "scalar", "dtype": "float32", "value": 2.5},
]
LAUNCH: dict[str, Any] = {"grid": ["cdiv(n, block_x)"], "block": [128]}


def data(kind: str = "cuda", **kernel: Any) -> dict[str, Any]:
    return {
        "name": "scale",
        "kernel": {"kernel_type": kind, "source_code": "void scale();"}
        | {"metadata": {"kernel_name": "scale"}}
        | kernel,
        "io": {"arguments": ARGUMENTS},
        "symbols": {"n": {"max": 1 << 20}},
        "workloads": [{"name": "w", "symbols": {"n": 1000}}],
        "parameters": {"TILE": {"values": [4, 8]}},
        "reference": "baseline",
    }


def spec(**kernel: Any) -> KernelSpec:
    return parse_spec(data(**kernel))


def steps(*given: dict[str, Any], **plan: Any) -> dict[str, Any]:
    return {"steps": list(given), **plan}


def step(**changes: Any) -> dict[str, Any]:
    return {"launch": "scale", **LAUNCH, **changes}


def contract(of: KernelSpec, n: int = 1000) -> BoundContract:
    return bind(of.io, {"n": n}, "w")


def launch_of(plan: LaunchPlan) -> Launch:
    return plan.launches[0]


ROWS = """__global__ void scale(...) {
  for (i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
}"""
