"""Loops along a row take blocks, and programs warps, that suit the rows of each launch."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .one_block_a_row import A_THREAD, HELD, MOST_WARPS, WARP, open_warps, row_loops
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernel_of
from .parts.nodes import walk
from .parts.source import decorators, is_call
from .parts.values import Values

OF_A_BLOCK = 128
"""elements that what each block costs besides its own is worth: a rule of thumb. Few, as a smaller
block has fewer warps; enough that of blocks which pad a row alike the longest is taken"""
HALVES = 6
"""blocks to choose from: the longest, its half, and so on"""
LONGEST = ((8 * WARP * A_THREAD, 1.0), (4 * WARP * A_THREAD, 0.7))
"""elements of 8 and 4 warps, share of the prior: more warps wait for each other longer"""


def _write(state: State) -> Proposals:
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return kernel
    if any(is_call(n, "dot") for n in walk(kernel.function)):
        return NotApplicable("its loop multiplies matrices: it is no loop along a row")
    if not open_warps(state):
        return NotApplicable("the spec or the search sets its warps: they cannot follow a launch")
    loops = row_loops(Values(kernel))
    if isinstance(loops, NotApplicable):
        return loops
    row, block = loops[0].end, loops[0].block
    if not isinstance(row, ast.Name) or row.id not in kernel.parameters:
        return NotApplicable("the length of the rows is no parameter of the kernel")
    if any(block in ast.unparse(d) for d in decorators(kernel.function)):
        return NotApplicable(f"a decorator of the kernel decides on `{block}` already")
    arguments = Arguments(state, kernel)
    size = arguments.symbol(row.id)
    if size is None or size[0] == size[1]:
        return NotApplicable(f"`{row.id}` is no symbol of the contract with several values")
    long = max(arguments.sizes(size[2]), default=size[1]) > 2 * HELD
    prior = 0.6 if long or len(loops) == 1 else 0.4  # several passes are saved by a whole row
    return _family(state, arguments.tunable(block), _source(kernel, row.id, block), prior)


def _source(kernel: Kernel, row: str, block: str) -> str:
    """With the block as the longest of those that a launch chooses from."""
    source, fitting = kernel.source, kernel.fresh(f"{block}_FIT")
    lengths = f'max({WARP}, args["{block}"] >> i) for i in range({HALVES})'
    cost = f'triton.cdiv(args["{row}"], b) * (b + {OF_A_BLOCK})'
    warps = f'max(1, min({MOST_WARPS}, args["{fitting}"] // {WARP * A_THREAD}))'
    edits = [
        source.replace(node, fitting)
        for statement in kernel.body
        for node in walk(statement)
        if isinstance(node, ast.Name) and node.id == block
    ]
    chosen = f"min(({lengths}), key=lambda b: {cost})"
    return source.edited([*edits, *kernel.heuristic(fitting, chosen, num_warps=warps)])


def _family(state: State, block: str | None, source: str, prior: float) -> tuple[Candidate, ...]:
    """With each of the longest blocks that may be set, or with the one that is."""
    told = "blocks and warps that suit the rows of each launch"
    known = () if block is None else state.spec.parameters[block].values
    longest = [(size, share) for size, share in LONGEST if size in known]
    if block is None or not longest:
        return (Candidate(method=MOVE.method, detail=told, source=source, prior=prior),)
    return tuple(
        Candidate(
            method=MOVE.method,
            detail=f"{told}, {block} = {size} at most",
            source=source,
            parameters={block: size},
            prior=prior * share,
        )
        for size, share in longest
    )


MOVE = Move(
    id="blocks_at_launch",
    method="change_block_sizes",
    languages=("triton",),
    why="The block of loops along a row is worked out at each launch: the longest that pads the "
    "row little, with 16 elements a thread. Pays where rows of several lengths are to be fast: a "
    "block that was tuned for one length leaves many of its lanes idle at another.",
    write=_write,
)
