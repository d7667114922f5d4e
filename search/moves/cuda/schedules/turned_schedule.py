"""Permutations, written anew: tiles in shared memory where loads and stores go different ways."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .tiled.turned import (
        turned,  # reads PTX with numpy: only where a CUDA kernel is asked about
    )

    return turned(state)


MOVE = Move(
    id="turned_schedule",
    method="coalesce_global_accesses",
    languages=("cuda",),
    why="Transposes and other permutations of any rank, with whatever is computed on the way, are "
    "read from the compiled code and written anew: padded tiles in shared memory, so that loads as "
    "well as stores go along what lies side by side. Pays where either went across.",
    write=_write,
)
