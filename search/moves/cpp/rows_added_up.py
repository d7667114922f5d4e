"""A dot product for each element becomes rows added up: i-j-k with a scalar to i-k-j without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import field, text_of
from ....runners.c_source.updates import update_of
from ....runners.model import Candidate
from ..shared.base import Move, Proposals, State
from .loop_order import ALONG, walks
from .parts.accumulation import Accumulation, read_accumulation
from .parts.bounds import bounds
from .parts.dependence import iterations_meet
from .parts.effects import effects_of
from .parts.program import Loop, Program
from .parts.rewrite import block, instead, outdented, renamed, rewritten, written
from .parts.scope import Scope
from .sum_in_register import also_of_sums_in_memory

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR = 0.3
PAYS = 0.3
"""more of the accesses must walk along memory than before"""


def _write(state: State) -> Proposals:
    return also_of_sums_in_memory(state, _first)


def _first(program: Program, scope: Scope) -> tuple[Candidate] | str:
    reasons = list[str]()
    for loop in program.entry.loops:
        if not any(text_of(n).startswith("for") for n in loop.statements):
            continue
        found = _added_up(program, loop, scope)
        if not isinstance(found, str):
            return (found,)
        reasons.append(found)
    return (
        reasons[-1]
        if reasons
        else program.unread or "no loop holds another that adds up into a scalar"
    )


def _added_up(program: Program, loop: Loop, scope: Scope) -> Candidate | str:
    read = read_accumulation(loop, scope, program)
    if isinstance(read, str):
        return read
    store = _only_store(read, scope, program)
    if isinstance(store, str):
        return store
    why = _not_apart(read, scope, program)
    if why is not None:
        return why
    lines = _lines(program, read, text_of(store))
    detail = f"{loop.variable} innermost: rows of `{text_of(store)}` added up in place"
    return rewritten(program, MOVE.method, detail, [instead(program, loop.node, lines)], PRIOR)


def _only_store(read: Accumulation, scope: Scope, program: Program) -> Node | str:
    """The element that one sum is stored to as it is."""
    if len(read.accumulators) != 1 or len(read.after) != 1 or len(read.terms) != 1:
        return "there is more than one sum, one term of it, and one store"
    total = read.accumulators[0]
    stored = read.after[0].named_children[0] if read.after[0].named_children else read.after[0]
    if (
        stored.type != "assignment_expression"
        or text_of(field(stored, "operator")) != "="
        or text_of(field(stored, "right")) != total.name
    ):
        return f"`{total.name}` is not stored as it is"
    place = scope.place(field(stored, "left"))
    if place is None or scope.arrays.get(place.array) != total.kind:
        return (
            f"`{total.name}` is no {scope.arrays.get(place.array) if place else 'element'}: "
            "sums in the output would be rounded in another way"
        )
    if not _adds(read.terms[0], total.name):
        return f"`{text_of(read.terms[0])}` does not add to `{total.name}`"
    return field(stored, "left")


def _adds(statement: Node, name: str) -> bool:
    """`sum += term`, however it is spelled; the sum occurs nowhere else."""
    if statement.type != "expression_statement" or not statement.named_children:
        return False
    update = update_of(statement.named_children[0])
    return update is not None and update.sign == "+" and text_of(update.target) == name


def _not_apart(read: Accumulation, scope: Scope, program: Program) -> str | None:
    around, inner = read.around, read.loops[0]
    why = iterations_meet(around, scope, program)
    if why is not None:
        return why
    if any(loop.pragmas for loop in (around, *read.loops)):
        return "a pragma speaks of this order of the loops"
    for loop in read.loops:
        limits = bounds(loop, scope)
        if limits is None or around.variable in limits[0].names | limits[1].names:
            return f"the bounds of the loop over {loop.variable} are no sizes of the contract"
    terms = effects_of(read.loops[-1].body, scope, program)
    now, then = walks(terms, read.loops[-1].variable), walks(terms, around.variable)
    if then < now + PAYS * ALONG:
        return (
            f"the innermost loop, over {inner.variable}, walks along memory about as well as one "
            f"over {around.variable} would"
        )
    return None


def _lines(program: Program, read: Accumulation, element: str) -> list[str]:
    """The new loops: the row is set, then added to."""
    head, total = read.around.header, read.accumulators[0]
    constants = [line for n in read.constants for line in written(program, n)]
    first = block(head, [*constants, f"{element} = {text_of(total.first)};"])
    term = renamed(program, read.terms[0], {total.name: element})
    body = block(head, [*constants, *outdented(program, read.terms[0], term).split("\n")])
    for loop in reversed(read.loops):
        body = block(loop.header, body)
    return [*first, *body]


MOVE = Move(
    id="rows_added_up",
    method="loop_order",
    languages=("cpp",),
    why="Turns a sum for each element (i-j-k) into rows that are added to (i-k-j). Each element is "
    "summed in the same order as before. Pays where the sum walks down columns: the new inner "
    "loop walks along rows and vectorises.",
    write=_write,
)
