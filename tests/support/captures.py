"""Plans of captured sources, and what tests ask of them."""

from __future__ import annotations

import importlib.util

from kernelwright.runners.capture import CaptureResult
from kernelwright.runners.plans.plan import LaunchPlan, Param

MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
XY = {"x": "input float32 [1000]", "y": "output float32 [1000]"}
XYN = {**XY, "n": "scalar int32 1000"}
HEADER = "import torch\nimport triton\nimport triton.language as tl\nfrom doubling import doubled\n"
KERNEL = """
@triton.jit
def run(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2.0, mask=at < n)
"""
TUNED = (
    HEADER
    + """
@triton.autotune(
    [triton.Config({"BLOCK": b}, num_warps=w, num_stages=2) for b, w in ((512, 8), (128, 4))],
    key=["n"], reset_to_zero=["y"], restore_value=["x"],
)
"""
    + KERNEL[1:]
)


def plan_of(result: CaptureResult) -> LaunchPlan:
    assert result.refusal == ""
    assert result.plan is not None
    return result.plan


def params(plan: LaunchPlan, index: int = 0) -> dict[str, Param]:
    return {p.arg: p for p in plan.launches[index].params}
