"""Products of matrices and what is like them, written anew: tiles in registers, packed panels."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.writing import panelled  # reads PTX with numpy: only where a function is asked

    return panelled(state)


MOVE = Move(
    id="panels_schedule",
    method="register_tiling",
    languages=("cpp",),
    why="A sum for each pair of a row and a column, as in products of matrices, Gram matrices and "
    "distances, is read from the compiled code, whatever it is spelled like, and written anew: a "
    "tile of sums stays in registers, and what its columns share is packed into a panel in the "
    "order in which it is used. Pays wherever each element is used by many places, also where "
    "the packed operand lies crosswise in memory.",
    write=_write,
)
