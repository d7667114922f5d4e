"""Rules that rewrite Triton sources, one file a move."""

from ..base import Move
from . import dot_operands, grouped_program_order, matmul_tiles, tensor_descriptors

MOVES: tuple[Move, ...] = (
    matmul_tiles.MOVE,
    dot_operands.MOVE,
    tensor_descriptors.MOVE,
    grouped_program_order.MOVE,
)
