"""Several iterations of a loop as one: their loads and sums do not wait for one another."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.kernels import kernels_of
from .parts.loops import innermost, options_of, with_option
from .parts.nodes import walk
from .parts.source import is_call

FACTORS = ((2, 0.15), (4, 0.15), (8, 0.05))


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    loops = [(k, loop) for k in kernels for loop in innermost(k) if _open(loop)]
    if not loops:
        return NotApplicable("it has no loop with loads, without tl.dot, that is not unrolled yet")
    return tuple(
        Candidate(
            method=MOVE.method,
            detail=f"loops along data unrolled {factor} times",
            source=kernels[0].source.edited(
                edit
                for kernel, loop in loops
                for edit in with_option(kernel, loop, "loop_unroll_factor", str(factor))
            ),
            prior=prior,
        )
        for factor, prior in FACTORS
    )


def _open(loop: ast.For) -> bool:
    decided = {"loop_unroll_factor", "num_stages"} & options_of(loop).keys()
    return not decided and not any(is_call(n, "dot") for n in walk(loop))


MOVE = Move(
    id="unrolled_loops",
    method="increase_ilp",
    languages=("triton",),
    why="Unrolls a loop along data by `loop_unroll_factor`, so that more loads are under way. "
    "Pays where a program waits for one block at a time and registers are left.",
    write=_write,
)
