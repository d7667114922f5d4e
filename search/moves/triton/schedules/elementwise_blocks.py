"""What is computed place by place, written anew in Triton: blocks of neighbouring places."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.places import places  # reads TTIR: only where a Triton kernel is asked about

    return places(state)


MOVE = Move(
    id="elementwise_blocks",
    method="vectorize_global_loads",
    languages=("triton",),
    why="What a kernel computes place by place is read from its TTIR, whatever it is spelled like, "
    "and written anew: blocks of places that lie side by side in what is written. Pays where a "
    "program took one element, small blocks, or places that are no neighbours.",
    write=_write,
)
