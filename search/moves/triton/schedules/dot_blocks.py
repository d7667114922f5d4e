"""Products of matrices, written anew in Triton: tiles by `tl.dot`."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.products import products  # reads TTIR: only where a Triton kernel is asked about

    return products(state)


MOVE = Move(
    id="dot_blocks",
    method="switch_to_mma_or_wgmma",
    languages=("triton",),
    why="A sum of products of what one row and one column give, in any layout and batch, is read "
    "from TTIR, whatever it is spelled like, and written anew: tiles of the output by tl.dot, in "
    "groups of rows of tiles, as exact as the contract's math. Pays where products were summed "
    "without tl.dot, or tiles were small.",
    write=_write,
)
