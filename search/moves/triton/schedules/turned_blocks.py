"""Transposes and permutations, written anew in Triton: tiles read one way and written the other."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.places import turned  # reads TTIR: only where a Triton kernel is asked about

    return turned(state)


MOVE = Move(
    id="turned_blocks",
    method="coalesce_global_accesses",
    languages=("triton",),
    why="Elements that lie side by side along one dimension where they are read and along another "
    "where they are written go through tiles of both: each side moves whole lines. Pays for "
    "transposes and permutations whose blocks ran along one of them.",
    write=_write,
)
