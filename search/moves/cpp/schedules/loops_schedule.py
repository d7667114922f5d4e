"""A host function written anew: loops in the order of memory, vectors inside, a team outside."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.writing import loops  # reads PTX with numpy: only where a function is asked about

    return loops(state)


MOVE = Move(
    id="loops_schedule",
    method="loop_order",
    languages=("cpp",),
    why="What a function computes is read from its compiled code, whatever it is spelled like, and "
    "written anew: loops in the order in which memory has their elements, vectors inside, a team "
    "of threads outside; sums along rows in several lanes, sums down columns for neighbours "
    "together, transposes in square tiles, and sums that many places share computed once. Pays "
    "where loops jump through memory, where sums wait for each other, and where the compiler "
    "could not see through the spelling.",
    write=_write,
)
