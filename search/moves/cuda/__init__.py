"""Rules that rewrite CUDA sources, one file a move; those in `idioms/` know whole algorithms."""

from ..shared.base import Move
from . import (
    async_copies,
    avoid_double,
    block_shapes,
    coarsen_rows,
    grid_stride,
    grouped_blocks,
    launch_bounds,
    pad_shared_tiles,
    restrict_pointers,
    streaming_accesses,
    unroll_loops,
    vectorize_elementwise,
    vectorize_rows,
    warp_barriers,
    whole_tiles,
)

MOVES: tuple[Move, ...] = (
    restrict_pointers.MOVE,
    vectorize_elementwise.MOVE,
    vectorize_rows.MOVE,
    grid_stride.MOVE,
    streaming_accesses.MOVE,
    unroll_loops.MOVE,
    launch_bounds.MOVE,
    pad_shared_tiles.MOVE,
    block_shapes.MOVE,
    grouped_blocks.MOVE,
    async_copies.MOVE,
    coarsen_rows.MOVE,
    warp_barriers.MOVE,
    avoid_double.MOVE,
    whole_tiles.MOVE,
)
