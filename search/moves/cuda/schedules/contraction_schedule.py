"""Contractions, written anew: tiles in shared memory, a part of the output in registers."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .tiled.tiles import tiles  # reads PTX with numpy: only where a CUDA kernel is asked about

    return tiles(state)


MOVE = Move(
    id="contraction_schedule",
    method="register_tiling",
    languages=("cuda",),
    why="Products of matrices in any layout, batched ones, distances and other folds over a value "
    "of a row and one of a column are read from the compiled code, whatever they are spelled like, "
    "and written anew: tiles in shared memory, a part of the output in a thread's registers, so "
    "that a value that is loaded is used many times. Pays beyond some hundred rows and columns.",
    write=_write,
)
