"""Folds along rows, written anew in Triton: a row in one block, or in a loop of wide ones."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.rows import rows  # reads TTIR: only where a Triton kernel is asked about

    return rows(state)


MOVE = Move(
    id="row_blocks",
    method="coalesce_global_accesses",
    languages=("triton",),
    why="Sums, extremes and other folds along rows, and what is made of them (softmax, norms, the "
    "place of a maximum), are read from TTIR, whatever they are spelled like, and written anew: "
    "the row in one block that every pass shares, several short rows a program, long rows in "
    "wide blocks. Pays where rows went by single elements, small blocks, or once for each pass.",
    write=_write,
)
