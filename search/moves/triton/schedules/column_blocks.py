"""Folds down columns, written anew in Triton: neighbouring columns in one block."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.rows import columns  # reads TTIR: only where a Triton kernel is asked about

    return columns(state)


MOVE = Move(
    id="column_blocks",
    method="coalesce_global_accesses",
    languages=("triton",),
    why="Sums and extremes whose neighbours lie side by side are read from TTIR, whatever they are "
    "spelled like, and written anew: a block has neighbouring columns, of which it takes many "
    "rows at a time. Pays where a program walked down one column, and loads were strided.",
    write=_write,
)
