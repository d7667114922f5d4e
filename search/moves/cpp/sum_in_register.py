"""An element that a loop adds to becomes a scalar that is stored once, behind the loop.

The compiler does not do it where a store might change what the loop reads. Results stay the same
to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.expressions import operator_of
from ....runners.c_source.nodes import field, inside, parents, text_of
from ....runners.c_source.updates import update_of
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, replace_node
from .parts.effects import effects_of
from .parts.program import Loop, Program, loop_of, program_of, read_program
from .parts.rewrite import free_name, instead, outdented, placed, rewritten
from .parts.scope import Place, Scope

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR = 0.2
Edits = Callable[[Program, Scope], list[Edit]]
"""a pass over a program"""


@dataclass(frozen=True, eq=False)
class MemorySum:
    """`outer` adds to `element` in each of its iterations, in the expressions `targets` of it."""

    outer: Loop
    targets: tuple[Node, ...]
    """where it stands: twice in `c = c + x`"""
    place: Place
    kind: str
    first: Node | None
    """the statement before the loop that sets the element"""


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    edits = sums_in_registers(program, scope)
    if not edits:
        return NotApplicable(
            program.unread or "no inner loop adds to one element of an array again and again"
        )
    detail = "sums of inner loops are kept in scalars and stored once"
    return (rewritten(program, MOVE.method, detail, edits, PRIOR),)


def also_of_sums_in_memory(
    state: State,
    write: Callable[[Program, Scope], tuple[Candidate, ...] | str],
    *before: Edits,
) -> Proposals:
    """What is written of the program; where it is a reason, what is written of it after this move,
    or after those that are to come `before` this move.

    For moves that look for sums in scalars: a sum in memory may become one.
    """
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    found = write(program, Scope(program, program.entry, state.spec))
    for passes in dict.fromkeys(((sums_in_registers,), (*before, sums_in_registers))):
        changed = _after(program, passes, state) if isinstance(found, str) else None
        if changed is not None:
            again = write(changed, Scope(changed, changed.entry, state.spec))
            found = found if isinstance(again, str) else again
    return NotApplicable(found) if isinstance(found, str) else found


def _after(program: Program, passes: Sequence[Edits], state: State) -> Program | None:
    """The program after some passes; None where one of them finds nothing to change."""
    now: Program | None = program
    for each in passes:
        edits = [] if now is None else each(now, Scope(now, now.entry, state.spec))
        if now is None or not edits:
            return None
        now = program_of(edited(now.source, edits).encode(), now.entry.name)
    return now


def sums_in_registers(program: Program, scope: Scope) -> list[Edit]:
    """The edits that make scalars of all such sums."""
    edits: list[Edit] = []
    for loop in program.entry.loops:
        found = _memory_sum(program, loop, scope)
        if found is not None:
            edits += _edits(program, found)
    return edits


def _memory_sum(program: Program, innermost: Loop, scope: Scope) -> MemorySum | None:
    if any(n.type == "for_statement" for n in inside(innermost.body)) or innermost.pragmas:
        return None
    effects = effects_of(innermost.body, scope, program)
    written_to = [a for a in effects.accesses if a.writes]
    if effects.trouble or effects.jumps or effects.scalars or len(written_to) != 1:
        return None
    target = written_to[0]
    array, above = target.place.array, target.node.parent
    uses = tuple(each.node for each in effects.of(array))
    if above is None or not _is_updated(above, uses):
        return None
    if above.parent is None or above.parent.type != "expression_statement":
        return None
    kind = scope.arrays.get(array)
    outer = _outermost(innermost, target.place)
    if kind is None or None in target.place.index or outer is None:
        return None
    return MemorySum(outer, uses, target.place, kind, _set_before(outer, target.place, scope))


def _is_updated(statement: Node, uses: tuple[Node, ...]) -> bool:
    """Whether all uses of an element's array are those of one update of it: `c[i] += x`,
    `c[i] = c[i] + x`, `++c[i]`."""
    if operator_of(statement) != "=":
        return len(uses) == 1
    return update_of(statement) is not None and len(uses) == 2


def _outermost(innermost: Loop, place: Place) -> Loop | None:
    """The outermost of loops that are each other's whole body and leave the element in place."""
    names = {name for form in place.index if form is not None for name in form.names}
    if innermost.variable in names:
        return None
    found = innermost
    for above in parents(innermost.node):
        if above.type == "compound_statement":
            continue
        loop = loop_of(above)
        if loop is None or len(loop.statements) != 1 or loop.variable in names or loop.pragmas:
            break
        found = loop
    return found


def _set_before(outer: Loop, place: Place, scope: Scope) -> Node | None:
    """`C[i] = 0;` right before the loop."""
    before = outer.node.prev_named_sibling
    if before is None or before.type != "expression_statement" or not before.named_children:
        return None
    given = before.named_children[0]
    if given.type != "assignment_expression" or text_of(field(given, "operator")) != "=":
        return None
    return before if scope.place(field(given, "left")) == place else None


def _edits(program: Program, found: MemorySum) -> list[Edit]:
    name = free_name(program, "sum")
    element = text_of(found.targets[0])
    start, end = found.outer.node.start_byte, found.outer.node.end_byte
    body = edited(program.source, [replace_node(n, name) for n in found.targets], start, end)
    store = f"{element} = {name};"
    loop = outdented(program, found.outer.node, body).split("\n")
    if found.first is None:
        declared = [f"{found.kind} {name} = {element};"]
        return [instead(program, found.outer.node, [*declared, *loop, store])]
    value = text_of(field(found.first.named_children[0], "right"))
    return [
        Edit(
            found.first.start_byte,
            found.first.end_byte,
            placed(program, found.first, [f"{found.kind} {name} = {value};"]),
        ),
        Edit(
            start,
            end,
            placed(program, found.outer.node, [*loop, store]),
        ),
    ]


MOVE = Move(
    id="sum_in_register",
    method="vectorise_loops",
    languages=("cpp",),
    why="Adds up in a scalar what an inner loop adds to one element of an array, and stores it "
    "once. Pays where each iteration waits for the store of the one before, and opens the way for "
    "sums in parts and for tiles of registers.",
    write=_write,
)
