"""The kernels of an artifact are told once for each way in which they differ."""

from __future__ import annotations

from kernelwright.runners.model import KernelFacts
from kernelwright.runners.plans.plan import LaunchPlan, PlanKernel
from kernelwright.runners.toolchains.launched import launched_kernels

REGISTERS = {"aa": 20, "bb": 30}


def plan(label: str, *kernels: PlanKernel) -> LaunchPlan:
    return LaunchPlan(label=label, kernels=kernels, buffers=(), steps=(), outputs=())


def kernel(code: str, threads: int, shared: int = 0) -> PlanKernel:
    return PlanKernel(id="k", entry="add", sha256=code, block=(threads, 1, 1), shared=shared)


def told(kernel: PlanKernel) -> KernelFacts:
    return KernelFacts(entry=kernel.entry, registers=REGISTERS[kernel.sha256])


def test_equal_kernels_are_one_with_the_shapes_that_launch_them() -> None:
    plans = {label: plan(label, kernel("aa", 128)) for label in ("large", "small")}
    plans["odd"] = plan("odd", kernel("bb", 128))
    found = launched_kernels(plans, told)
    assert [(k.registers, k.shapes) for k in found] == [(20, ("large", "small")), (30, ("odd",))]


def test_one_kernel_launched_in_two_ways_comes_twice() -> None:
    found = launched_kernels(
        {
            "large": plan("large", kernel("aa", 256, shared=64), kernel("aa", 32)),
            "small": plan("small", kernel("aa", 32)),
        },
        told,
    )
    assert [(k.threads, k.dynamic_shared, k.shapes) for k in found] == [
        (256, 64, ("large",)),
        (32, 0, ("large", "small")),
    ]
