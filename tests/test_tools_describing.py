"""What several verbs say of kernels and variants."""

from __future__ import annotations

from kernelwright.runners.model import KernelFacts
from kernelwright.runners.spec import Workload
from kernelwright.tools.describing import visible_kernels

WORKLOADS = (
    Workload(name="large", symbols={"n": 4096}),
    Workload(name="ragged", symbols={"n": 4097}, held_out=True),
)


def test_shapes_that_are_held_out_are_not_shown_nor_the_kernels_for_them_alone() -> None:
    kernels = [
        KernelFacts(entry="add", registers=20, shapes=("large", "ragged")),
        KernelFacts(entry="add", registers=30, shapes=("ragged",)),
        KernelFacts(entry="add", registers=40, shapes=("odd",)),
    ]
    shown = visible_kernels(kernels, WORKLOADS)
    assert [(k.registers, k.shapes) for k in shown] == [(20, ("large",)), (40, ("odd",))]


def test_kernels_whose_shapes_nobody_noted_are_shown() -> None:
    kernel = KernelFacts(entry="add")
    assert visible_kernels([kernel], WORKLOADS) == (kernel,)
