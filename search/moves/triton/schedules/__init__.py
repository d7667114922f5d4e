"""Schedules: Triton written from what a kernel computes, whatever its source is spelled like."""

from ...shared.base import Move
from . import (
    column_blocks,
    dot_blocks,
    elementwise_blocks,
    row_blocks,
    scan_blocks,
    turned_blocks,
)

MOVES: tuple[Move, ...] = (
    dot_blocks.MOVE,
    row_blocks.MOVE,
    column_blocks.MOVE,
    scan_blocks.MOVE,
    turned_blocks.MOVE,
    elementwise_blocks.MOVE,
)
