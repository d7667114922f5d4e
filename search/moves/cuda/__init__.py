"""Rules that rewrite CUDA sources, one file a move."""

from ..base import Move

MOVES: tuple[Move, ...] = ()
