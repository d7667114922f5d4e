"""Rules that rewrite CUDA sources, one file a move; whole algorithms in `idioms/`."""

from ..base import Move
from . import idioms, vectorize_elementwise

MOVES: tuple[Move, ...] = (vectorize_elementwise.MOVE, *idioms.MOVES)
