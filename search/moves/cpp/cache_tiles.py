"""Two nested loops in square tiles, where either order jumps through one of the arrays."""

from __future__ import annotations

from ....runners.c_source.nodes import text_of
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .loop_order import walks
from .parts.dependence import any_order_meets
from .parts.effects import effects_of
from .parts.program import Loop, Program, read_program
from .parts.rewrite import (
    block,
    counted,
    free_name,
    instead_of_loop,
    nest_from,
    rewritten,
    with_includes,
    written,
)
from .parts.scope import Scope
from .register_tile import PARALLEL

TILES = ((32, 0.35), (16, 0.15))
"""and their priors: a line has 16 floats; 32 x 32 of them are 4 KiB"""


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    reasons = list[str]()
    for loop in program.entry.loops:
        nest = nest_from(loop)
        if len(nest) < 2:
            continue
        two = (nest[-2], nest[-1])
        why = _pointless(program, two, scope)
        if why is None:
            return tuple(_candidate(program, two, size, prior) for size, prior in TILES)
        reasons.append(why)
    return NotApplicable(
        reasons[0] if reasons else program.unread or "no loop is the whole body of another"
    )


def _pointless(program: Program, loops: tuple[Loop, Loop], scope: Scope) -> str | None:
    outer, inner = loops
    effects = effects_of(inner.body, scope, program)
    why = any_order_meets(loops, effects, scope)
    if why is not None:
        return why
    if inner.pragmas or not all(PARALLEL.fullmatch(text_of(p).strip()) for p in outer.pragmas):
        return "a pragma speaks of this order of the loops"
    if outer.step != 1 or inner.step != 1:
        return "a loop steps by more than one"
    if walks(effects, inner.variable) == 1.0:
        return f"the loop over {inner.variable} walks along memory in every array"
    if walks(effects, outer.variable) == 1.0:
        return f"swapped, the loop over {outer.variable} would walk along memory in every array"
    if walks(effects, outer.variable) < walks(effects, inner.variable):
        return f"no array is walked along by the loop over {outer.variable}"
    return None


def _candidate(program: Program, loops: tuple[Loop, Loop], size: int, prior: float) -> Candidate:
    outer, inner = loops
    tile = free_name(program, "kTile")
    body = [line for n in inner.statements for line in written(program, n)]
    names = {loop.variable: free_name(program, f"{loop.variable}_tile") for loop in loops}
    for loop in (inner, outer):
        name = names[loop.variable]
        end = f"std::min<{loop.kind}>({name} + {tile}, {loop.upper})"
        body = block(counted(loop.kind, loop.variable, name, end), body)
    for loop in (inner, outer):
        head = counted(loop.kind, names[loop.variable], text_of(loop.lower), loop.upper, tile)
        body = block(head, body)
    directives = [text_of(p).strip() for p in outer.pragmas]
    new = [f"constexpr int {tile} = {size};", *directives, *body]
    edits = [*with_includes(program, "<algorithm>"), instead_of_loop(program, outer, new)]
    detail = f"{outer.variable} and {inner.variable} in tiles of {size} x {size}"
    return rewritten(program, MOVE.method, detail, edits, prior)


MOVE = Move(
    id="cache_tiles",
    method="tile_loops",
    languages=("cpp",),
    why="Takes two nested loops in square tiles. Pays where one array is walked along by the inner "
    "loop and another by the outer one, as in a transpose: within a tile the lines of both stay in "
    "the cache until they are used whole.",
    write=_write,
)
