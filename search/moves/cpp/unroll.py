"""Innermost loops unrolled by a pragma."""

from __future__ import annotations

from ....runners.c_source.nodes import inside, text_of
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.program import Loop, read_program
from .parts.rewrite import instead, rewritten, written

TIMES = ((4, 0.1), (8, 0.06))
"""and their priors"""
MOST_LOOPS = 4


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    loops = [f for f in program.entry.loops if _is_innermost(f) and not f.pragmas]
    loops = [loop for loop in loops if not _is_short(loop)][:MOST_LOOPS]
    if not loops:
        return NotApplicable(
            program.unread
            or "every innermost loop has a pragma, or a constant number of iterations"
        )
    found = list[Candidate]()
    for times, prior in TIMES:
        edits = [
            instead(program, n.node, [f"#pragma GCC unroll {times}", *written(program, n.node)])
            for n in loops
        ]
        names = ", ".join(loop.variable for loop in loops)
        found.append(
            rewritten(program, MOVE.method, f"{names} unrolled {times} times", edits, prior)
        )
    return tuple(found)


def _is_innermost(loop: Loop) -> bool:
    return not any(n.type == "for_statement" for n in inside(loop.body))


def _is_short(loop: Loop) -> bool:
    bound = text_of(loop.bound)
    return bound.isdigit() or (bound[:1] == "k" and bound[1:2].isupper())


MOVE = Move(
    id="unroll",
    method="increase_ilp",
    languages=("cpp",),
    why="Unrolls innermost loops by 4 or 8. Pays a little where a loop's own counting and "
    "branching is a large part of it.",
    write=_write,
)
