"""Rules that recognise a whole algorithm in a CUDA kernel and write it anew, one file a move."""

from ...shared.base import Move
from . import (
    hgemm_wgmma,
    histogram_shared,
    row_in_registers,
    row_per_team,
    row_scan,
    sgemm_ring,
    sgemm_tiles,
    sum_blocks,
    transpose_tile,
)

MOVES: tuple[Move, ...] = (
    row_per_team.MOVE,
    row_in_registers.MOVE,
    row_scan.MOVE,
    sgemm_ring.MOVE,
    sgemm_tiles.MOVE,
    hgemm_wgmma.MOVE,
    sum_blocks.MOVE,
    histogram_shared.MOVE,
    transpose_tile.MOVE,
)
