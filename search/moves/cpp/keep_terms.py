"""What one loop computes for a sum and a later one computes again is kept in the output between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.nodes import field, inside, text_of
from ....runners.model import Candidate
from ....runners.specs.normalise import source_key
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited
from .parts.effects import effects_of
from .parts.program import Loop, Program, read_program, statements
from .parts.rewrite import instead, rewritten
from .parts.scope import Scope
from .parts.types import kind_of, named_kind

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR = 0.35


@dataclass(frozen=True, eq=False)
class Twice:
    """A term of `first`, which `second` computes again before it stores to an output."""

    first: Loop
    second: Loop
    term: Node
    again: tuple[Node, ...]
    element: Node
    kind: str


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    reasons = list[str]()
    for first in program.entry.loops:
        for second in program.entry.loops:
            if first.node.end_byte > second.node.start_byte or first.node.parent != (
                second.node.parent
            ):
                continue
            found = _twice(program, first, second, scope)
            if not isinstance(found, str):
                return (_candidate(program, found),)
            reasons.append(found)
    return NotApplicable(
        reasons[0]
        if reasons
        else program.unread or "no two loops beside each other, of which the later stores"
    )


def _twice(program: Program, first: Loop, second: Loop, scope: Scope) -> Twice | str:
    if _span(first) != _span(second):
        return f"the loops over {first.variable} and {second.variable} have other bounds"
    stores = [s for s in second.statements if _store(s) is not None]
    sums = [s for s in first.statements if s.type == "expression_statement"]
    if len(second.statements) != 1 or len(stores) != 1 or len(sums) != 1:
        return "a loop holds more than one sum, or one store"
    stored, added = _store(stores[0]), sums[0].named_children[0]
    if added.type != "assignment_expression" or stored is None:
        return "a loop holds more than one sum, or one store"
    element, value = field(stored, "left"), field(stored, "right")
    place = scope.place(element)
    if place is None or scope.role(place.array) != "output":
        return "what the later loop stores to is no output of the contract"
    term = field(added, "right")
    calls = [c for c in inside(term) if c.type == "call_expression"]
    if not calls:
        return "the earlier loop's terms are cheap to compute again"
    again = tuple(n for n in inside(value) if _same(n, term))
    if not again:
        return f"the later loop does not compute `{text_of(term)}` again"
    return _checked(program, Twice(first, second, term, again, element, ""), scope, place.array)


def _checked(program: Program, twice: Twice, scope: Scope, output: str) -> Twice | str:
    kind = kind_of(twice.term, program.entry)
    if kind is None or named_kind(scope.arrays[output]) != kind:
        return (
            f"`{text_of(twice.term)}` is no {scope.arrays[output]}: kept there it would be rounded"
        )
    if any(loop.pragmas for loop in (twice.first, twice.second)):
        return "a pragma speaks of the loops"
    touched = effects_of(twice.first.body, scope, program)
    if touched.trouble or any(a.place.array == output for a in touched.accesses):
        return f"the earlier loop uses `{output}` itself"
    kept = (twice.term, twice.element)
    used = {text_of(n) for part in kept for n in inside(part) if n.type == "identifier"}
    for between in _between(twice):
        done = effects_of(between, scope, program)
        if done.trouble or done.written or used & {*done.scalars, *done.private}:
            return "what is between the loops may change the terms or the output"
        if any(a.place.array == output for a in done.accesses):
            return f"`{output}` is used between the loops"
    later = effects_of(twice.second.body, scope, program)
    if later.trouble or later.scalars or set(later.written) != {output} or later.jumps:
        return "the later loop does more than store"
    if any(a.reads for a in later.of(output)):
        return f"the later loop uses `{output}` itself"
    return Twice(twice.first, twice.second, twice.term, twice.again, twice.element, kind)


def _between(twice: Twice) -> list[Node]:
    found: list[Node] = []
    node = twice.first.node.next_named_sibling
    while node is not None and node != twice.second.node:
        if node.type != "preproc_call":
            found.append(node)
        node = node.next_named_sibling
    return found


def _span(loop: Loop) -> tuple[str, str, str, int]:
    return loop.variable, text_of(loop.lower), loop.upper, loop.step


def _store(statement: Node) -> Node | None:
    """The assignment that a statement is."""
    if statement.type != "expression_statement" or not statement.named_children:
        return None
    given = statement.named_children[0]
    if given.type != "assignment_expression" or text_of(field(given, "operator")) != "=":
        return None
    return given if field(given, "left").type == "subscript_expression" else None


def _same(one: Node, other: Node) -> bool:
    if one.type != other.type:
        return False
    keys = {source_key(f"auto x = {text_of(n)};", "cpp") for n in (one, other)}
    return len(keys) == 1


def _candidate(program: Program, twice: Twice) -> Candidate:
    element = text_of(twice.element)
    statement = next(s for s in statements(twice.first.body) if s.type == "expression_statement")
    summed = edited(
        statement.text or b"",
        [
            Edit(
                twice.term.start_byte - statement.start_byte,
                twice.term.end_byte - statement.start_byte,
                element,
            )
        ],
    )
    kept = [*f"{element} = {text_of(twice.term)};".split("\n"), summed]
    edits = [
        instead(program, statement, kept),
        *(Edit(n.start_byte, n.end_byte, element) for n in twice.again),
    ]
    detail = f"`{text_of(twice.term)}` is kept in `{element}` between the loops"
    return rewritten(program, MOVE.method, detail, edits, PRIOR)


MOVE = Move(
    id="keep_terms",
    method="softmax_math_fusion",
    languages=("cpp",),
    why="Keeps terms that are summed in one loop and computed again in a later one in the output "
    "between the two. Pays where the terms are calls: a softmax then has one exp for each element.",
    write=_write,
)
