"""`__syncwarp()` in place of `__syncthreads()` where a block is one warp."""

from __future__ import annotations

from math import prod

from ....runners.c_source.nodes import text_of, walk
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import edited, replace_node
from .parts.reading import CudaKernel, read_kernels

WARP = 32
"""threads; all GPUs so far"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    names = dict.fromkeys(k.function.name for k in kernels)
    single = [
        next(k for k in kernels if k.function.name == name)
        for name in names
        if all(_is_one_warp(k) for k in kernels if k.function.name == name)
    ]
    if not single:
        return NotApplicable(f"no kernel is launched with blocks of {WARP} threads")
    barriers = [
        node
        for kernel in single
        for node in walk(kernel.body)
        if node.type == "identifier" and text_of(node) == "__syncthreads"
    ]
    if not barriers:
        return NotApplicable("no kernel whose block is one warp has a __syncthreads()")
    return (
        Candidate(
            method=MOVE.method,
            detail=f"{len(barriers)} barriers of one warp",
            source=edited(kernels[0].text, (replace_node(n, "__syncwarp") for n in barriers)),
            prior=0.2,
        ),
    )


def _is_one_warp(kernel: CudaKernel) -> bool:
    sizes = [size for size in kernel.launch.block if isinstance(size, int)]
    return len(sizes) == 3 and prod(sizes) == WARP


MOVE = Move(
    id="warp_barriers",
    method="fewer_barriers",
    languages=("cuda",),
    why="Where a block is one warp, its threads wait for each other with `__syncwarp()`, which is "
    "cheaper than a barrier of the block. Pays in loops over tiles that a single warp works on.",
    write=_write,
)
