"""Rows with a maximum and a sum of exponentials under it, written anew: both in one pass."""

from __future__ import annotations

from ...shared.base import Move, Proposals, State


def _write(state: State) -> Proposals:
    from .parts.rows import (
        ONE_PASS,
        rows,
    )  # reads PTX with numpy: only where a CUDA kernel is asked about

    return rows(state, ONE_PASS)


MOVE = Move(
    id="softmax_schedule",
    method="softmax_math_fusion",
    languages=("cuda",),
    why="A row's maximum and the sum of exponentials under it, as of softmax and of losses made of "
    "it, are read from the compiled code, whatever it is spelled like, and written anew in one "
    "pass: a running maximum, powers of two, one meeting of the row's threads in place of two. "
    "Pays where rows are too long for registers and were read once for each pass, and where "
    "threads waited for each other twice.",
    write=_write,
)
