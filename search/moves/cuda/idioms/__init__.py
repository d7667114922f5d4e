"""Rules that recognise a whole algorithm in a CUDA kernel and write it anew, one file a move."""

from ...base import Move

MOVES: tuple[Move, ...] = ()
