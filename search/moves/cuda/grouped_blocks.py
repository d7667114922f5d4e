"""Blocks of a two-dimensional grid in groups of rows, so that those which run together share what
they read in L2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....runners.c_source.expressions import squeezed
from ....runners.c_source.loops import LOOPS
from ....runners.c_source.nodes import parents, root_of, text_of, walk
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, replace_node
from .parts.dependence import Flow
from .parts.free_names import free_names
from .parts.reading import CudaKernel, of_each, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

GROUPS = ((8, 0.3), (4, 0.15), (16, 0.12))
"""rows of blocks in a group, prior: as for tiles in Triton"""
NUMBER = re.compile(r"blockIdx|ctaid|block_rank|block_index|group_index|cluster")
"""what leads to the number of a block"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    launches = dict[str, list[CudaKernel]]()
    for kernel in kernels:
        launches.setdefault(kernel.function.name, []).append(kernel)
    first = [each[0] for each in launches.values()]
    return of_each(first, lambda k: _of(launches[k.function.name], one=len(first) == 1))


def _of(launches: list[CudaKernel], *, one: bool) -> list[Candidate] | NotApplicable:
    kernel = launches[0]
    reason = _not_flat(launches) or _unseen(kernel) or _nothing_shared(kernel)
    if reason:
        return NotApplicable(reason)
    where = "" if one else f"{kernel.function.name}: "
    return [
        Candidate(
            method=MOVE.method,
            detail=f"{where}blocks in groups of {size} rows",
            source=edited(kernel.text, _edits(kernel, size)),
            prior=prior,
        )
        for size, prior in GROUPS
    ]


def _not_flat(launches: list[CudaKernel]) -> str:
    """Why the blocks are not the places of a two-dimensional grid; empty: they are."""
    name = launches[0].function.name
    for kernel in launches:
        x, y, _ = kernel.launch.grid
        if x == 1 or y == 1:
            return f"the grid of `{name}` has one dimension: its blocks have no rows to group"
        if kernel.launch.cluster is not None or "__cluster_dims__" in text_of(kernel.function.node):
            return f"blocks of `{name}` go in clusters, which must lie side by side"
    return ""


def _unseen(kernel: CudaKernel) -> str:
    """Why not every use of a block's number could be changed; empty: every one is seen."""
    name, body = kernel.function.name, kernel.body
    if any(n.type.startswith(("preproc_if", "preproc_def", "preproc_fun")) for n in walk(body)):
        return f"lines of the preprocessor decide what stands in `{name}`"
    uses = list(_uses(body))
    if {squeezed(n)[-1] for n in uses} != {"x", "y"}:
        return f"`{name}` does not use both `blockIdx.x` and `blockIdx.y`"
    elsewhere = _blanked(body, [*uses, *(n for n in walk(body) if squeezed(n) == "blockIdx.z")])
    if NUMBER.search(elsewhere):
        return f"`{name}` takes a block's number otherwise than as `blockIdx.x` and `blockIdx.y`"
    root = root_of(body)
    if NUMBER.search(_blanked(root, [n for n in walk(root) if _is_kernel(n)])):
        return "a macro or function beside the kernel takes the number of a block, too"
    return ""


def _uses(body: Node) -> Iterator[Node]:
    for node in walk(body):
        if node.type == "field_expression" and squeezed(node) in ("blockIdx.x", "blockIdx.y"):
            yield node


def _is_kernel(node: Node) -> bool:
    return node.type == "function_definition" and any(c.type == "__global__" for c in node.children)


def _blanked(node: Node, without: list[Node]) -> str:
    """The text of a node without those of some nodes within."""
    raw = bytearray(node.text or b"")
    for inner in without:
        start = inner.start_byte - node.start_byte
        raw[start : inner.end_byte - node.start_byte] = b" " * (inner.end_byte - inner.start_byte)
    return raw.decode("utf-8", "replace")


def _nothing_shared(kernel: CudaKernel) -> str:
    """Why neighbours have nothing to share: a row of blocks must read some of the same in a loop,
    and a column of blocks as well. Empty: both do."""
    flow = Flow(kernel)
    looped = (n for n in flow.reads() if any(p.type in LOOPS for p in parents(n)))
    axes = {flow.blocks(node) & {"x", "y"} for node in looped}
    if {"x"} <= set().union(*(a for a in axes if len(a) == 1)) and frozenset("y") in axes:
        return ""
    return (
        f"no loop of `{kernel.function.name}` reads what hangs on `blockIdx.x` alone and what "
        "hangs on `blockIdx.y` alone, as operands of a product do: neighbouring blocks share "
        "nothing in both directions, or their order is another already"
    )


def _edits(kernel: CudaKernel, size: int) -> Iterator[Edit]:
    """Each group is as wide as the grid and `size` rows high, the last one what is left; its blocks
    are numbered down its columns. The numbers are those of the grid, each once."""
    first, rows, place, x, y = free_names(
        kernel, "first_row", "group_rows", "group_place", "grouped_x", "grouped_y"
    )
    for node in _uses(kernel.body):
        yield replace_node(node, x if squeezed(node).endswith("x") else y)
    brace = kernel.body.start_byte + 1
    left = f"gridDim.y - {first}"
    lines = (
        f"// groups of {size} rows of blocks, column by column: they share what they read in L2",
        f"const unsigned {first} = blockIdx.y / {size} * {size};",
        f"const unsigned {rows} = {left} < {size} ? {left} : {size};",
        f"const unsigned {place} = (blockIdx.y - {first}) * gridDim.x + blockIdx.x;",
        f"const unsigned {x} = {place} / {rows}, {y} = {first} + {place} % {rows};",
    )
    yield Edit(brace, brace, "".join(f"\n    {line}" for line in lines))


MOVE = Move(
    id="grouped_blocks",
    method="grouped_gemm_colmajor",
    languages=("cuda",),
    why="Numbers the blocks of a two-dimensional grid in groups of some rows, so that blocks that "
    "run at the same time read the same rows of one operand and columns of the other, and find "
    "them in L2. Pays for operands that do not fit in L2.",
    write=_write,
)
