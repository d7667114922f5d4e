"""Rules that rewrite host C++ sources, one file a move."""

from ..base import Move

MOVES: tuple[Move, ...] = ()
