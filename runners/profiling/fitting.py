"""Which launches of a report are of a plan: those of its kernels with its shapes; pure.

The name of a kernel says little: many kernels are called `gemm`, and one kernel is launched with
other numbers for each workload and each set of parameters.
"""

from __future__ import annotations

from ..plans.plan import ONE, Dim3, Launch, LaunchPlan, PlanKernel
from .model import KernelProfile, Profile

DYNAMIC = "launch__shared_mem_per_block_dynamic"
CLUSTER = ("launch__cluster_dim_x", "launch__cluster_dim_y", "launch__cluster_dim_z")
NAMED = 5


def launches_of(plan: LaunchPlan, profile: Profile) -> tuple[int, ...]:
    """Which launches of a report are the plan's, by their places in it. A report of a whole program
    holds others as well."""
    return tuple(place for place, each in enumerate(profile.launches) if not _misfit(each, plan))


def misfit(profile: Profile, plan: LaunchPlan) -> str:
    """What a launch that is none of the plan's has in its stead, in words: `grid 4x1x1, not
    2x1x1`; the first of the plan's kernels, where there is one. Empty: all are the plan's."""
    entries = {each.entry for each in plan.kernels}
    ordered = sorted(profile.launches, key=lambda each: not entries & {each.kernel, each.name})
    return next(filter(None, (_misfit(each, plan) for each in ordered)), "")


def launched(plan: LaunchPlan) -> str:
    """What a plan launches, each shape once, in words."""
    kernels = {each.id: each for each in plan.kernels}
    told = dict.fromkeys(_told(kernels[each.launch], each) for each in plan.launches)
    more = f" and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return "; ".join(list(told)[:NAMED]) + more


def _misfit(found: KernelProfile, plan: LaunchPlan) -> str:
    kernels = {each.id: each for each in plan.kernels if each.entry in (found.kernel, found.name)}
    differences = [
        _differences(found, kernels[each.launch], each)
        for each in plan.launches
        if each.launch in kernels
    ]
    if not differences:
        return f"`{found.name}` is not launched"
    nearest = min(differences, key=len)
    return f"`{found.name}` with {', '.join(nearest)}" if nearest else ""


def _differences(found: KernelProfile, kernel: PlanKernel, launch: Launch) -> list[str]:
    pairs = {
        "grid": (found.shape.grid, launch.grid),
        "block": (found.shape.block, kernel.block),
        "cluster": _clusters(found, kernel),
    }
    told = [f"{what} {_by(a)}, not {_by(b)}" for what, (a, b) in pairs.items() if a != b]
    shared = found.number(DYNAMIC)
    if shared is not None and shared != kernel.shared:
        told.append(f"{shared:.0f} bytes of dynamic shared memory, not {kernel.shared}")
    return told


def _clusters(found: KernelProfile, kernel: PlanKernel) -> tuple[Dim3, Dim3]:
    """Of the report and of the plan; equal where one of them does not say. A report has zeros for
    a launch without clusters, and a kernel may have its cluster compiled in, outside the plan."""
    x, y, z = (found.number(name) for name in CLUSTER)
    if kernel.cluster is None or x is None or y is None or z is None:
        return ONE, ONE
    return (max(int(x), 1), max(int(y), 1), max(int(z), 1)), kernel.cluster


def _told(kernel: PlanKernel, launch: Launch) -> str:
    cluster = f", cluster {_by(kernel.cluster)}" if kernel.cluster else ""
    shared = f", {kernel.shared} bytes of dynamic shared memory" if kernel.shared else ""
    return (
        f"`{kernel.entry}` with grid {_by(launch.grid)}, block {_by(kernel.block)}{cluster}{shared}"
    )


def _by(extent: Dim3) -> str:
    return "x".join(map(str, extent))
