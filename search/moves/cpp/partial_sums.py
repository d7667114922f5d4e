"""Sums, products and extremes of an inner loop in several parts, one a lane of a vector.

A sum is added up in another order; that of integers and every maximum stay what they were.
"""

from __future__ import annotations

import math
import re

from ....runners.c_source.nodes import inside, text_of
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.bounds import bounds
from .parts.dependence import carried_by_arrays
from .parts.effects import effects_of
from .parts.program import Function, Loop, Program, minus, read_program
from .parts.reductions import Reduction, reductions_of
from .parts.rewrite import block, counted, free_name, instead, rewritten, written
from .parts.scope import Scope
from .parts.trips import most_trips

LANES = ((32, 0.35), (16, 0.2))
"""and their priors: two and one vectors of 16 floats, four and two of 8"""
LEAST = min(lanes for lanes, _ in LANES)
ALONE = 0.5
"""of the prior for one of several loops"""


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    reasons = list[str]()
    found = list[tuple[Loop, tuple[Reduction, ...]]]()
    trips = list[float]()
    for function in program.functions:
        scope = Scope(program, function, state.spec)
        for loop in function.loops:
            if any(n.type == "for_statement" for n in inside(loop.body)):
                continue
            reductions = _reductions(program, function, loop, scope)
            if isinstance(reductions, str):
                reasons.append(reductions)
            elif (most := most_trips(loop, scope, state.spec)) is not None and most < LEAST:
                reasons.append(f"the loop over {loop.variable} has {most} iterations at most")
            else:
                found.append((loop, reductions))
                trips.append(math.inf if most is None else most)
    if not found:
        return NotApplicable(
            reasons[0] if reasons else program.unread or "no innermost loop is a counted one"
        )
    # where the longest loop has fewer iterations than parts, all of it is what is left over
    useful = [(lanes, prior) for lanes, prior in LANES if lanes <= max(trips)]
    together = [_candidate(program, found, lanes, prior) for lanes, prior in useful]
    if len(found) == 1:
        return tuple(together)
    lanes, prior = useful[0]
    return (*together, *(_candidate(program, [each], lanes, prior * ALONE) for each in found))


def _reductions(
    program: Program, function: Function, loop: Loop, scope: Scope
) -> tuple[Reduction, ...] | str:
    effects = effects_of(loop.body, scope, program)
    where = f"the loop over {loop.variable}"
    if effects.trouble or effects.jumps:
        return effects.trouble[0] if effects.trouble else f"{where} has a jump in it"
    if not effects.scalars:
        return f"{where} reduces nothing to a scalar"
    if loop.step != 1 or loop.pragmas:
        return f"{where} steps by more than one, or a pragma speaks of it"
    if any(n.type == "call_expression" for n in inside(loop.bound)):
        return f"the bound of {where} is a call"
    if re.search(r"\bkLanes\d*\b", loop.header):
        return f"{where} is over parts already"
    found = reductions_of(function, loop, effects, loop.statements)
    if isinstance(found, str):
        return found
    limits = bounds(loop, scope)
    if loop.unsigned and (limits is None or limits[0].constant != 0):
        return f"{where} counts without signs, and may have no iterations"
    why = carried_by_arrays(loop, effects, scope)
    return why or found


def _candidate(
    program: Program,
    found: list[tuple[Loop, tuple[Reduction, ...]]],
    lanes: int,
    prior: float,
) -> Candidate:
    most = free_name(program, "kLanes")
    edits = [
        instead(program, loop.node, _in_parts(program, loop, reductions, most, lanes))
        for loop, reductions in found
    ]
    names = [f"`{r.name}` over {loop.variable}" for loop, reductions in found for r in reductions]
    detail = f"{', '.join(names)} in {lanes} parts"
    if any(r.rounds for _, rs in found for r in rs):
        detail += " (sums in another order)"
    return rewritten(program, MOVE.method, detail, edits, prior)


def _in_parts(
    program: Program, loop: Loop, reductions: tuple[Reduction, ...], most: str, lanes: int
) -> list[str]:
    """What takes the place of a loop, in braces: its names are its own."""
    lane, first = free_name(program, "lane"), free_name(program, f"{loop.variable}_first")
    parts = {r.name: free_name(program, f"{r.name}_parts") for r in reductions}
    names = {name: f"{part}[{lane}]" for name, part in parts.items()}
    lower, upper, v = text_of(loop.lower), loop.upper, loop.variable
    extent = upper if lower == "0" else f"{upper} - {minus(loop.lower)}"
    rest = f"{extent if extent.isidentifier() else f'({extent})'} % {most}"
    statements = [line for n in loop.statements for line in written(program, n, names)]
    # without signs upper - most would wrap where there are fewer iterations
    fits = f"{first} + {most} <= {upper}" if loop.unsigned else f"{first} <= {upper} - {most}"
    whole = f"{first} = {lower}; {fits}; {first} += {most}"
    each_lane = counted("int", lane, "0", most)
    return block(
        "",
        [
            f"constexpr int {most} = {lanes};",
            *(f"{r.kind} {parts[r.name]}[{most}];" for r in reductions),
            *block(each_lane, [f"{names[r.name]} = {r.neutral};" for r in reductions]),
            *block(
                f"for ({loop.kind} {whole})",
                block(each_lane, [f"const {loop.kind} {v} = {first} + {lane};", *statements]),
            ),
            *block(
                counted(loop.kind, v, f"{upper} - {rest}", upper),
                [line for n in loop.statements for line in written(program, n)],
            ),
            *block(each_lane, [r.combined.format(part=names[r.name]) for r in reductions]),
        ],
    )


MOVE = Move(
    id="partial_sums",
    method="increase_ilp",
    languages=("cpp",),
    why="Reduces inner loops to 32 or 16 parts and then these to one. Compilers keep the order of "
    "sums of floats, so that each waits for the one before; parts are added side by side in "
    "vectors. Pays 5 to 20 times in that loop.",
    write=_write,
)
