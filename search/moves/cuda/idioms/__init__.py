"""Rules that recognise a whole algorithm in a CUDA kernel and write it anew, one file a move."""

from ...base import Move
from . import row_in_registers, row_per_team

MOVES: tuple[Move, ...] = (row_per_team.MOVE, row_in_registers.MOVE)
