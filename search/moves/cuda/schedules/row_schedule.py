"""Rows that are folded, written anew: a warp or a block a row, vectors along it, one reading."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.rows import rows  # reads PTX with numpy: only where a CUDA kernel is asked about

    return rows(state)


MOVE = Move(
    id="row_schedule",
    method="coalesce_global_accesses",
    languages=("cuda",),
    why="Sums, extremes and other folds along rows, and what is made of them, are read from the "
    "compiled code, whatever it is spelled like, and written anew: a warp or a block a row, "
    "vectors along it, the row held in registers where it fits. Pays where a thread walked a "
    "row, where rows were read once for each pass, and where a row's threads met in shared "
    "memory.",
    write=_write,
)
