"""Sums, products and extremes of an inner loop in several parts, one a lane of a vector.

A sum is added up in another order; that of integers and every maximum stay what they were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.nodes import field, inside, text_of
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.bounds import bounds
from .parts.dependence import carried_by_arrays
from .parts.effects import effects_of
from .parts.program import Function, Loop, Program, minus, read_program
from .parts.rewrite import block, counted, free_name, instead, rewritten, written
from .parts.scope import Scope
from .parts.types import kind_of

if TYPE_CHECKING:
    from tree_sitter import Node

LANES = ((32, 0.35), (16, 0.2))
"""and their priors: two and one vectors of 16 floats, four and two of 8"""
ALONE = 0.5
"""of the prior for one of several loops"""
COMPARED = re.compile(r"[<>]=?")


@dataclass(frozen=True)
class Reduction:
    """A scalar that an inner loop reduces to."""

    name: str
    kind: str
    sign: str
    """+, *, > (a maximum) or < (a minimum)"""

    @property
    def combined(self) -> str:
        """How a lane's part goes into the scalar; `{part}` stands for it."""
        if self.sign in "+*":
            return f"{self.name} {self.sign}= {{part}};"
        return f"if ({{part}} {self.sign} {self.name}) {self.name} = {{part}};"

    @property
    def neutral(self) -> str:
        """What a lane begins with."""
        return {"+": "0", "*": "1"}.get(self.sign, self.name)


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    reasons = list[str]()
    found = list[tuple[Loop, tuple[Reduction, ...]]]()
    for function in program.functions:
        scope = Scope(program, function, state.spec)
        for loop in function.loops:
            if any(n.type == "for_statement" for n in inside(loop.body)):
                continue
            reductions = _reductions(program, function, loop, scope)
            if isinstance(reductions, str):
                reasons.append(reductions)
            else:
                found.append((loop, reductions))
    if not found:
        return NotApplicable(reasons[0] if reasons else "no innermost loop is a counted one")
    together = [_candidate(program, found, lanes, prior) for lanes, prior in LANES]
    if len(found) == 1:
        return tuple(together)
    lanes, prior = LANES[0]
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
    found = list[Reduction]()
    for name, changes in effects.scalars.items():
        kind = kind_of(changes[0].named_children[0], function)
        signs = {_sign(statement, name) for statement in loop.statements} - {None}
        uses = [n for n in inside(loop.body) if n.type == "identifier" and text_of(n) == name]
        if kind is None or len(signs) != 1:
            return f"`{name}` is neither a sum nor a maximum that {where} reduces to"
        sign = signs.pop()
        assert sign is not None
        wanted = sum(_uses(s, name) for s in loop.statements if _sign(s, name) == sign)
        if len(uses) != wanted:
            return f"`{name}` is used for more than one reduction in {where}"
        found.append(Reduction(name, _written_kind(function, name, kind), sign))
    limits = bounds(loop, scope)
    if loop.unsigned and (limits is None or limits[0].constant != 0):
        return f"{where} counts without signs, and may have no iterations"
    why = carried_by_arrays(loop, effects, scope)
    return why or tuple(found)


def _uses(statement: Node, name: str) -> int:
    return sum(n.type == "identifier" and text_of(n) == name for n in inside(statement))


def _written_kind(function: Function, name: str, kind: str) -> str:
    """The type as the declaration has it."""
    for node in inside(function.node):
        if node.type == "declaration":
            for each in node.children_by_field_name("declarator"):
                if text_of(each.child_by_field_name("declarator")) == name:
                    written_as = text_of(field(node, "type"))
                    return kind if written_as == "auto" else written_as
    return kind


def _sign(statement: Node, name: str) -> str | None:
    """What a statement reduces the name by; None: by nothing that is known."""
    if statement.type == "if_statement":
        return _compared(statement, name)
    if statement.type != "expression_statement" or not statement.named_children:
        return None
    given = statement.named_children[0]
    if given.type != "assignment_expression" or text_of(field(given, "left")) != name:
        return None
    right, sign = field(given, "right"), text_of(field(given, "operator"))
    if sign in ("+=", "*="):
        return None if _uses(right, name) else sign[0]
    if sign != "=":
        return None
    if right.type == "binary_expression" and text_of(right.children[1]) in ("+", "*"):
        alone = text_of(field(right, "left")) == name and not _uses(field(right, "right"), name)
        return text_of(right.children[1]) if alone else None
    if right.type == "call_expression":
        return _extreme(right, name)
    return _conditional(right, name) if right.type == "conditional_expression" else None


def _extreme(call: Node, name: str) -> str | None:
    function, given = text_of(field(call, "function")), field(call, "arguments").named_children
    called = function.removeprefix("std::").partition("<")[0]
    if len(given) != 2 or [text_of(g) for g in given].count(name) != 1:
        return None
    return {"max": ">", "min": "<"}.get(called)


def _compared(statement: Node, name: str) -> str | None:
    """`if (x > m) m = x;`."""
    if statement.child_by_field_name("alternative") is not None:
        return None
    test = field(statement, "condition").child_by_field_name("value")
    body = field(statement, "consequence")
    inner = body.named_children if (body.type == "compound_statement") else [body]
    if test is None or len(inner) != 1 or not inner[0].named_children:
        return None
    given = inner[0].named_children[0]
    if given.type != "assignment_expression" or text_of(field(given, "left")) != name:
        return None
    if text_of(field(given, "operator")) != "=":
        return None
    return _order(test, name, text_of(field(given, "right")))


def _conditional(node: Node, name: str) -> str | None:
    """`x > m ? x : m`, and its mirror images."""
    test = field(node, "condition")
    while test.type == "parenthesized_expression":
        test = test.named_children[0]
    yes, no = text_of(field(node, "consequence")), text_of(field(node, "alternative"))
    if no == name:
        return _order(test, name, yes)
    mirrored = _order(test, name, no) if yes == name else None
    return {">": "<", "<": ">"}.get(mirrored or "")


def _order(test: Node, name: str, value: str) -> str | None:
    """> when the test holds for a value that is more than the name."""
    if test.type != "binary_expression" or not COMPARED.fullmatch(text_of(test.children[1])):
        return None
    left, right, sign = (
        text_of(field(test, "left")),
        text_of(field(test, "right")),
        text_of(test.children[1]),
    )
    if (left, right) == (value, name):
        return sign[0]
    return {">": "<", "<": ">"}[sign[0]] if (left, right) == (name, value) else None


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
    if any(r.sign in "+*" and r.kind in ("float", "double") for _, rs in found for r in rs):
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
