"""Rules that rewrite Triton sources, one file a move."""

from ..base import Move

MOVES: tuple[Move, ...] = ()
