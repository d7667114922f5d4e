"""Folds across rows, written anew: a block has 32 neighbouring places and many threads for each;
several blocks share those of few and long columns."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .blocks.columns import columns  # reads PTX with numpy: only for a CUDA kernel

    return columns(state)


MOVE = Move(
    id="column_schedule",
    method="split_reduction",
    languages=("cuda",),
    why="Sums and extremes across rows, as of columns, are read from the compiled code, whatever "
    "it is spelled like, and written anew: neighbouring threads have neighbouring places, and many "
    "threads share one; several blocks share few and long ones, and a second launch joins their "
    "parts in a fixed order. Pays where a thread a place leaves the device empty.",
    write=_write,
)
