"""Whether a report is of a plan: each of its launches one of the plan's, by kernel and shape; pure.

The name of a kernel says little: many kernels are called `gemm`, and one kernel is launched with
other numbers for each workload and each set of parameters.
"""

from __future__ import annotations

from ..plans.plan import ONE, Dim3, Launch, LaunchPlan, PlanKernel
from .model import KernelProfile, Profile

DYNAMIC = "launch__shared_mem_per_block_dynamic"
CLUSTER = ("launch__cluster_dim_x", "launch__cluster_dim_y", "launch__cluster_dim_z")
NAMED = 5


def misfit(profile: Profile, plan: LaunchPlan) -> str:
    """What the first launch that is none of the plan's has in its stead, in words: `grid 4x1x1,
    not 2x1x1`. Empty: all of them are launches of the plan."""
    return next(filter(None, (_misfit(each, plan) for each in profile.launches)), "")


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
