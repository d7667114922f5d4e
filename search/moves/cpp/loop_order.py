"""Loops of a perfect nest in another order, so that the innermost one walks along memory."""

from __future__ import annotations

from dataclasses import dataclass

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.dependence import any_order_meets
from .parts.effects import Effects, effects_of
from .parts.program import Loop, Program, read_program
from .parts.rewrite import nest_from, rewritten
from .parts.scope import Scope

PRIOR = 0.4
INVARIANT, ALONG, ACROSS = 1.0, 1.0, 0.0
"""what an access is worth in an innermost loop that does not move it, moves it to the next
element, or moves it further"""


@dataclass(frozen=True)
class Nest:
    """Loops, each the whole body of the one before, and what the innermost body does."""

    loops: tuple[Loop, ...]
    effects: Effects


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    reasons = list[str]()
    found = list[Candidate]()
    seen = set[int]()
    for loop in program.entry.loops:
        loops = nest_from(loop)
        if len(loops) < 2 or loop.node.id in seen:
            continue
        seen |= {each.node.id for each in loops}
        nest = Nest(loops, effects_of(loops[-1].body, scope, program))
        candidate = _better(program, nest, scope)
        if isinstance(candidate, str):
            reasons.append(candidate)
        else:
            found.append(candidate)
    if found:
        return tuple(found)
    return NotApplicable(
        reasons[0]
        if reasons
        else program.unread or "no loop is the whole body of another: there is nothing to swap"
    )


def _better(program: Program, nest: Nest, scope: Scope) -> Candidate | str:
    if any(loop.pragmas for loop in nest.loops):
        return "a pragma speaks of this order of the loops"
    why = any_order_meets(nest.loops, nest.effects, scope)
    if why is not None:
        return why
    names = [loop.variable for loop in nest.loops]
    scores = {name: walks(nest.effects, name) for name in names}
    best = max(names, key=lambda name: (scores[name], names.index(name)))
    if scores[best] <= scores[names[-1]]:
        return f"the innermost loop, over {names[-1]}, walks along memory as well as any other"
    order = [name for name in names if name != best] + [best]
    heads = {loop.variable: loop.header for loop in nest.loops}
    edits = [
        Edit(loop.node.start_byte, loop.node.start_byte + len(loop.header.encode()), heads[name])
        for loop, name in zip(nest.loops, order, strict=True)
    ]
    detail = f"loops {', '.join(names)} -> {', '.join(order)}"
    return rewritten(program, MOVE.method, detail, edits, PRIOR)


def walks(effects: Effects, variable: str) -> float:
    """The share of accesses that a variable leaves in place or moves to the next element."""
    worth = list[float]()
    for access in effects.accesses:
        *outer, last = access.place.index
        if last is None or None in outer:
            continue
        if any(variable in form.names for form in outer if form is not None):
            worth.append(ACROSS)
            continue
        factor = last.coefficient(variable)
        if factor is None:
            continue
        by = factor.constant
        worth.append(INVARIANT if by == 0 else ALONG if by in (1, -1) else ACROSS)
    return sum(worth) / len(worth) if worth else 0.0


MOVE = Move(
    id="loop_order",
    method="loop_order",
    languages=("cpp",),
    why="Swaps the loops of a perfect nest so that the innermost one walks along memory. Pays "
    "where the inner loop jumps from row to row: each cache line is then used whole, and the "
    "compiler can vectorise.",
    write=_write,
)
