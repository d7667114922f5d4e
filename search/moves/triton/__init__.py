"""Rules that rewrite Triton sources, one file a move."""

from ..shared.base import Move
from . import (
    base_two_exponentials,
    block_atomics,
    blocks_at_launch,
    cache_policies,
    dot_operands,
    dot_products,
    grouped_program_order,
    loop_stages,
    matmul_tiles,
    one_block_a_row,
    persistent_programs,
    rows_of_vectors,
    several_rows,
    shared_histogram,
    tensor_descriptors,
    tiles_of_rows,
    unrolled_loops,
    whole_blocks,
)

MOVES: tuple[Move, ...] = (
    dot_products.MOVE,
    matmul_tiles.MOVE,
    dot_operands.MOVE,
    tensor_descriptors.MOVE,
    grouped_program_order.MOVE,
    persistent_programs.MOVE,
    one_block_a_row.MOVE,
    blocks_at_launch.MOVE,
    rows_of_vectors.MOVE,
    tiles_of_rows.MOVE,
    several_rows.MOVE,
    base_two_exponentials.MOVE,
    shared_histogram.MOVE,
    block_atomics.MOVE,
    loop_stages.MOVE,
    unrolled_loops.MOVE,
    cache_policies.MOVE,
    whole_blocks.MOVE,
)
