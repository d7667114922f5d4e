"""A Triton kernel that adds, launched as it is or in a wrapper, and requests to build it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.plans.plan import Artifact
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape

ADD = """
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)
"""
WRAPPER = (
    "import torch\n"
    + ADD
    + """
def run(x, y):
    out = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 512),)](x, y, out, x.numel(), BLOCK=512)
    return out
"""
)
SHAPES = {"main": 4096, "odd": 4097, "one": 1}


def spec(source: str, entry: str, align: int = 16, **changes: Any) -> dict[str, Any]:
    arrays = [
        {"name": name, "role": role, "dtype": "float32", "shape": ["n"], "align": align}
        for name, role in (("x", "input"), ("y", "input"), ("out", "output"))
    ]
    kernel: dict[str, Any] = {
        "kernel_type": "triton",
        "source_code": source,
        "metadata": {"kernel_name": entry},
    }
    if entry == "add":
        kernel["launch"] = {"grid": ["cdiv(n, BLOCK)"], "constexprs": {"BLOCK": 512}}
    return {
        "name": "adding",
        "kernel": kernel,
        "io": {
            "arguments": [
                *arrays,
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 1 << 20}},
        "workloads": [{"name": "main", "symbols": {"n": 4096}}],
        "reference": {"source_code": "def reference(x, y, n):\n    return x + y\n"},
    } | changes


def request_of(
    data: dict[str, Any],
    shapes: tuple[str, ...] = ("main",),
    timeout_s: float = 60.0,
    **changes: Any,
) -> BuildRequest:
    kernel = load_data(data, Path("/"), Roots([]))
    return BuildRequest(
        kernel=kernel,
        variant=kernel.baseline().model_copy(update=changes),
        shapes=tuple(Shape(label=label, symbols={"n": SHAPES[label]}) for label in shapes),
        device=PROFILES[0][0],
        timeout_s=timeout_s,
    )


def artifact_of(outcome: BuildOutcome) -> Artifact:
    assert outcome.artifact is not None, outcome.message
    return outcome.artifact
