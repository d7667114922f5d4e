"""What is computed place by place, written anew: neighbours as vectors, several a thread."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.elements import (
        places,
    )  # reads PTX with numpy: only where a CUDA kernel is asked about

    return places(state)


MOVE = Move(
    id="elementwise_schedule",
    method="vectorize_global_loads",
    languages=("cuda",),
    why="What a kernel computes place by place is read from its compiled code, whatever it is "
    "spelled like, and written anew: neighbouring elements of the output for neighbouring threads, "
    "in vectors, several a thread with all loads first. Pays where threads moved single elements, "
    "or elements that are no neighbours.",
    write=_write,
)
