"""Launch plans of one kernel, and what a compiler says of it: what is known without a run."""

from __future__ import annotations

from kernelwright.runners.model import KernelFacts
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.specs.devices import PROFILES

H100 = PROFILES[0][0]
FACTS = KernelFacts(entry="k", registers=32, static_shared=1024)


def plan(*grids: int, block: int = 256) -> LaunchPlan:
    kernel = {"id": "k", "entry": "k", "sha256": "0" * 64, "block": [block, 1, 1]}
    steps = [{"launch": "k", "grid": [grid, 1, 1], "params": []} for grid in grids]
    return LaunchPlan.model_validate(
        {"label": "w", "kernels": [kernel], "buffers": [], "steps": steps, "outputs": []}
    )
