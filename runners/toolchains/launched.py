"""The kernels of an artifact as a reader wants them: one for each way in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..model import KernelFacts
from ..plans.plan import LaunchPlan, PlanKernel


def launched_kernels(
    plans: Mapping[str, LaunchPlan], told: Callable[[PlanKernel], KernelFacts]
) -> tuple[KernelFacts, ...]:
    """What is `told` of the machine code of each kernel, with its launch and its shapes.

    `plans` by the label of their shape. Kernels that differ in nothing are one.
    """
    known = dict[PlanKernel, KernelFacts]()
    shapes = dict[KernelFacts, dict[str, None]]()
    for label, plan in plans.items():
        for kernel in plan.kernels:
            if kernel not in known:
                known[kernel] = _launched(kernel, told(kernel))
            shapes.setdefault(known[kernel], {})[label] = None
    return tuple(
        facts.model_copy(update={"shapes": tuple(labels)}) for facts, labels in shapes.items()
    )


def _launched(kernel: PlanKernel, told: KernelFacts) -> KernelFacts:
    x, y, z = kernel.block
    return told.model_copy(update={"dynamic_shared": kernel.shared, "threads": x * y * z})
