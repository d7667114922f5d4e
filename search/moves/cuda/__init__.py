"""Rules that rewrite CUDA sources, one file a move."""

from ..base import Move
from . import idioms

MOVES: tuple[Move, ...] = (*idioms.MOVES,)
