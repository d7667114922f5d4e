"""Other shapes of two-dimensional blocks, with the grid that follows from them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....runners.c_source.nodes import contains, text_of, walk
from ....runners.inferring.found_parameters import base_name
from ....runners.model import Candidate
from ....runners.specs.declared_plan_model import LaunchStep
from ....runners.specs.expressions import cdiv
from ....runners.specs.part import Expression
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.expressions import Locals, built_ins, thread_axis
from .parts.reading import CudaKernel, launch_bounds_of, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

SHAPES = (
    ((32, 8), 0.3),
    ((64, 4), 0.25),
    ((128, 2), 0.15),
    ((32, 16), 0.1),
    ((128, 1), 0.1),
    ((64, 16), 0.1),
    ((256, 1), 0.05),
)
"""threads along x and y, prior"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found = [c for k in kernels for c in _of_kernel(k)]
    if not found:
        return NotApplicable(
            "no kernel with a two-dimensional block in numbers uses it for the number of its "
            "thread alone (`blockIdx.y * blockDim.y + threadIdx.y`)"
        )
    return tuple(found)


def _of_kernel(kernel: CudaKernel) -> list[Candidate]:
    launch = kernel.launch
    x, y, z = launch.block
    if not isinstance(x, int) or not isinstance(y, int) or y == 1 or z != 1:
        return []
    if launch.cluster is not None or launch.shared != 0 or not _free(kernel):
        return []
    return [
        Candidate(
            method=MOVE.method,
            detail=f"{base_name(launch.launch)}: block {x} x {y} -> {shape[0]} x {shape[1]}",
            plan=kernel.plan_with(block=shape, grid=_grid(launch, (x, y), shape)),
            prior=prior,
        )
        for shape, prior in SHAPES
        if shape != (x, y) and shape[0] * shape[1] <= most_threads(kernel)
    ]


def _free(kernel: CudaKernel) -> bool:
    """Whether threads and blocks occur only where they number the threads of the whole grid, or
    where a loop begins that goes through all of an axis in steps of the grid."""
    known, text = Locals(kernel.body), text_of(kernel.body)
    if "__shared__" in text or "__sync" in text or "__shfl" in text:
        return False
    numbered: list[Node] = []
    for node in walk(kernel.body):
        if node.type in ("binary_expression", "cast_expression"):
            axis = thread_axis(node, known, kernel.launch)
            if axis is not None and f"blockDim.{axis}" in built_ins(node, known.starts):
                numbered.append(node)
        elif node.type == "for_statement":
            start, update = (node.child_by_field_name(f) for f in ("initializer", "update"))
            if start is not None and update is not None:
                steps = {name[-1] for name in built_ins(update) if name.startswith("gridDim")}
                if {name[-1] for name in built_ins(start)} <= steps:
                    numbered.append(start)
    uses = [n for n in walk(kernel.body) if n.type == "field_expression"]
    return bool(numbered) and all(
        any(contains(n, use) for n in numbered)
        for use in uses
        if re.fullmatch(r"(threadIdx|blockIdx)\.[xy]", text_of(use))
    )


def most_threads(kernel: CudaKernel) -> int:
    """Threads a block that `__launch_bounds__` allows, where it is there in numbers."""
    bounds = launch_bounds_of(kernel)
    if bounds is None:
        return 1024
    said = text_of(bounds.named_children[0])
    return int(said) if said.isdigit() else 0


def _grid(
    launch: LaunchStep, before: tuple[int, int], after: tuple[int, int]
) -> tuple[Expression, ...]:
    """At least as many threads along each axis as before."""
    return (
        *(
            rescaled(size, was, now)
            for size, was, now in zip(launch.grid[:2], before, after, strict=True)
        ),
        launch.grid[2],
    )


def rescaled(size: Expression, was: int, now: int) -> Expression:
    if was == now:
        return size
    if isinstance(size, int):
        return cdiv(size * was, now)
    if size.startswith("cdiv(") and size.endswith(f", {was})") and size.count("(") == 1:
        return f"{size.removesuffix(f', {was})')}, {now})"
    return f"cdiv(({size}) * {was}, {now})"


MOVE = Move(
    id="block_shapes",
    method="change_block_sizes",
    languages=("cuda",),
    why="Other shapes of a two-dimensional block, both sides at once: a warp along a row uses all "
    "of its lines of memory, and taller blocks share more rows in L1. Pays where blocks are "
    "square, as beginners choose them.",
    write=_write,
)
