"""Sums whose loop stands outside (i-k-j, k-i-j) with that loop innermost (i-j-k): each element is
added to in the same order as before, one element after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, inside, text_of
from .....runners.c_source.updates import update_of
from ...shared.edits import Edit
from .dependence import any_order_meets
from .effects import effects_of
from .program import Loop, Program, loop_of
from .rewrite import block, instead, nest_from, placed, written
from .scope import Place, Scope

if TYPE_CHECKING:
    from tree_sitter import Node


def sums_innermost(program: Program, scope: Scope) -> list[Edit]:
    """The edits that bring the loop of every such sum innermost; where a loop right before sets the
    elements, its statement goes with them."""
    edits, seen = list[Edit](), set[int]()
    for loop in program.entry.loops:
        nest = nest_from(loop)
        if loop.node.id not in seen and len(nest) > 1:
            seen |= {each.node.id for each in nest}
            edits += _edit(program, nest, scope)
    return edits


def _edit(program: Program, nest: tuple[Loop, ...], scope: Scope) -> list[Edit]:
    place = _summed(nest, scope)
    if place is None or any(loop.pragmas for loop in nest):
        return []
    named = {name for form in place.index if form is not None for name in form.names}
    over = [loop for loop in nest if loop.variable not in named]
    if len(over) != 1 or over[0] is nest[-1]:
        return []
    if any_order_meets(nest, effects_of(nest[-1].body, scope, program), scope) is not None:
        return []
    others = [loop for loop in nest if loop is not over[0]]
    first = _set_before(program, nest[0], others, place, scope)
    body = [line for n in nest[-1].statements for line in written(program, n)]
    lines = [*([] if first is None else written(program, first[1])), *block(over[0].header, body)]
    for loop in reversed(others):
        lines = block(loop.header, lines)
    if first is None:
        return [instead(program, nest[0].node, lines)]
    start, end = first[0].start_byte, nest[0].node.end_byte
    return [Edit(start, end, placed(program, first[0], lines))]


def _summed(nest: tuple[Loop, ...], scope: Scope) -> Place | None:
    """The element that the one statement of a nest adds to; None: it does something else."""
    body = nest[-1].statements
    if len(body) != 1 or body[0].type != "expression_statement" or not body[0].named_children:
        return None
    update = update_of(body[0].named_children[0])
    if update is None or update.sign != "+":
        return None
    return scope.place(update.target)


def _set_before(
    program: Program, outermost: Loop, others: list[Loop], place: Place, scope: Scope
) -> tuple[Node, Node] | None:
    """The loop right before that sets each of the elements to a value of no array, and its
    statement."""
    before = outermost.node.prev_named_sibling
    loop = None if before is None else loop_of(before)
    if before is None or loop is None or loop.pragmas or len(others) != 1:
        return None
    if program.source[before.end_byte : outermost.node.start_byte].strip():
        return None  # a comment stands between them
    if loop.header != others[0].header or len(loop.statements) != 1:
        return None
    statement = loop.statements[0]
    given = statement.named_children[0] if statement.named_children else statement
    if given.type != "assignment_expression" or text_of(field(given, "operator")) != "=":
        return None
    plain = ("identifier", "number_literal", "unary_expression", "binary_expression")
    if any(n.type not in plain for n in inside(field(given, "right"))):
        return None
    return (before, statement) if scope.place(field(given, "left")) == place else None
