"""What is known of a launch before it runs, under the names that ncu gives it: from the launch
plan, what the compiler told, and the device. Everything that is counted is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...runners.model import KernelFacts
from ...runners.plans.plan import Launch, LaunchPlan, PlanKernel
from ...runners.profiling.model import KernelProfile, LaunchShape, Metric, Profile
from ...runners.specs.devices import DeviceFacts
from ..occupancy import Limiter, block_limits, occupancy
from ..profile import names as n

LIMITS: dict[Limiter, str] = {
    "registers": n.LIMIT_REGISTERS,
    "shared memory": n.LIMIT_SHARED,
    "threads": n.LIMIT_WARPS,
    "blocks": n.LIMIT_BLOCKS,
}


def static_profile(
    plan: LaunchPlan, kernels: Sequence[KernelFacts], device: DeviceFacts
) -> Profile | None:
    """Every launch of a plan, without counters; None for a plan that launches nothing.

    `kernels`: what the compiler told of the kernels; of others only the grid is known.
    """
    by_id = {kernel.id: kernel for kernel in plan.kernels}
    launches = tuple(
        _launch(step, by_id[step.launch], _facts(by_id[step.launch], plan.label, kernels), device)
        for step in plan.launches
    )
    return Profile(launches=launches, read_by="no profiler") if launches else None


def _facts(kernel: PlanKernel, label: str, kernels: Sequence[KernelFacts]) -> KernelFacts | None:
    """Of the kernel as it was compiled for this shape."""
    same = [each for each in kernels if each.entry == kernel.entry]
    return next((each for each in same if not each.shapes or label in each.shapes), None)


def _launch(
    step: Launch, kernel: PlanKernel, facts: KernelFacts | None, device: DeviceFacts
) -> KernelProfile:
    blocks = math.prod(step.grid)
    known = {n.GRID: float(blocks), n.SMS: float(device.sm_count)}
    if facts is not None:
        launched = facts.model_copy(update={"threads": math.prod(kernel.block)})
        known |= _residency(launched, blocks, device)
    return KernelProfile(
        kernel=kernel.entry,
        name=kernel.entry,
        shape=LaunchShape(grid=step.grid, block=kernel.block),
        device=device.name,
        capability=device.capability,
        metrics={name: Metric(value=value) for name, value in known.items()},
    )


def _residency(facts: KernelFacts, blocks: int, device: DeviceFacts) -> dict[str, float]:
    limits, resident = block_limits(facts, device), occupancy(facts, device)
    known = {n.SHARED: float((facts.static_shared or 0) + facts.dynamic_shared)}
    if facts.registers is not None:
        known[n.REGISTERS] = float(facts.registers)
    if limits is None or resident is None:
        return known
    known |= {LIMITS[limiter]: float(room) for limiter, room in limits.items()}
    known[n.THEORETICAL] = 100 * resident.share
    if resident.blocks:
        known[n.WAVES] = blocks / (resident.blocks * device.sm_count)
    return known
