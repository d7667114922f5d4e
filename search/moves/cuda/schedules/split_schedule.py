"""Few long rows, or a whole array, written anew: blocks fold, and a second launch joins them."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .blocks.split import split  # reads PTX with numpy: only where a CUDA kernel is asked about

    return split(state)


MOVE = Move(
    id="split_schedule",
    method="split_reduction",
    languages=("cuda",),
    why="Sums, extremes and their places over few long rows or a whole array are read from the "
    "compiled code, whatever they are spelled like, and written anew in two launches: blocks "
    "enough for the whole device fold a share each by vectors, and a warp a row joins the shares "
    "in a fixed order, without atomic updates. Pays where one block or one thread folded what a "
    "device could, and where threads met at one address.",
    write=_write,
)
