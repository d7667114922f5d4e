"""Histograms and other updates of few elements, written anew: counters in shared memory."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .blocks.bins import bins  # reads PTX with numpy: only where a CUDA kernel is asked about

    return bins(state)


MOVE = Move(
    id="bins_schedule",
    method="avoid_atomics_reduce",
    languages=("cuda",),
    why="Atomic updates of few elements at places that the data says, as of histograms, weighted "
    "ones and sums by class, are read from the compiled code, whatever they are spelled like, and "
    "written anew: each block updates copies in shared memory, reads by vectors, and adds what it "
    "has to the array in the end. Pays where many threads meet at few addresses.",
    write=_write,
)
