"""The contract's promise that arrays never overlap, written into the entry's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import text_of
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.program import Program, read_program
from .parts.rewrite import rewritten

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR = 0.15


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    pointers = _pointers(program)
    if len(pointers) < 2:
        return NotApplicable("fewer than two pointers are parameters: there is nothing to overlap")
    free = [p for p in pointers if "restrict" not in text_of(p)]
    if not free:
        return NotApplicable("every pointer is __restrict already")
    edits = [Edit(n.start_byte, n.start_byte, "__restrict ") for n in map(_name, free)]
    names = ", ".join(text_of(_name(p)) for p in free)
    return (rewritten(program, MOVE.method, f"__restrict for {names}", edits, PRIOR),)


def _pointers(program: Program) -> list[Node]:
    declared = (p.node.child_by_field_name("declarator") for p in program.entry.parameters)
    return [d for d in declared if d is not None and d.type == "pointer_declarator"]


def _name(declarator: Node) -> Node:
    inner = declarator.child_by_field_name("declarator")
    return declarator if inner is None else _name(inner)


MOVE = Move(
    id="restrict",
    method="vectorise_loops",
    languages=("cpp",),
    why="Writes __restrict at the entry's pointers: arguments of one call never overlap. Pays "
    "where the compiler checks for overlap, or loads a value again after each store.",
    write=_write,
)
