"""Running sums along rows, written anew in Triton: `tl.cumsum` over a row, or over wide blocks."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.scans import scans  # reads TTIR: only where a Triton kernel is asked about

    return scans(state)


MOVE = Move(
    id="scan_blocks",
    method="coalesce_global_accesses",
    languages=("triton",),
    why="Sums of all elements of a row up to each of its places are read from TTIR, whatever they "
    "are spelled like, and written anew by tl.cumsum: the row in one block, or wide blocks with "
    "what came before them carried along. Pays where a program went element by element, or by "
    "small blocks.",
    write=_write,
)
