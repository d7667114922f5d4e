"""Scalars that a loop reduces to: sums, products, largest and smallest values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, inside, text_of
from .....runners.c_source.updates import update_of
from .effects import Effects
from .program import Function, Loop
from .types import kind_of

if TYPE_CHECKING:
    from tree_sitter import Node

COMPARED = re.compile(r"[<>]=?")


@dataclass(frozen=True)
class Reduction:
    """A scalar that a loop reduces to."""

    name: str
    kind: str
    sign: str
    """+, *, > (a maximum) or < (a minimum)"""

    @property
    def combined(self) -> str:
        """How a part goes into the scalar; `{part}` stands for it."""
        if self.sign in "+*":
            return f"{self.name} {self.sign}= {{part}};"
        return f"if ({{part}} {self.sign} {self.name}) {self.name} = {{part}};"

    @property
    def neutral(self) -> str:
        """What a part begins with."""
        return {"+": "0", "*": "1"}.get(self.sign, self.name)

    @property
    def rounds(self) -> bool:
        """Whether another order of its terms may give other bits."""
        return self.sign in "+*" and self.kind in ("float", "double")


def reductions_of(
    function: Function, loop: Loop, effects: Effects, statements: Sequence[Node]
) -> tuple[Reduction, ...] | str:
    """The scalars that `statements` of a loop reduce to, or what is done with one besides.

    `effects`: of the loop's body. Every use of such a scalar in the body is in its reduction.
    """
    where, found = f"the loop over {loop.variable}", list[Reduction]()
    for name, changes in effects.scalars.items():
        kind = kind_of(changes[0].named_children[0], function)
        signs = {_sign(statement, name) for statement in statements} - {None}
        if kind is None or len(signs) != 1:
            return f"`{name}` is neither a sum nor a maximum that {where} reduces to"
        sign = signs.pop()
        assert sign is not None
        wanted = sum(_uses(s, name) for s in statements if _sign(s, name) == sign)
        if _uses(loop.body, name) != wanted:
            return f"`{name}` is used for more than one reduction in {where}"
        found.append(Reduction(name, _written_kind(function, name, kind), sign))
    return tuple(found)


def _uses(node: Node, name: str) -> int:
    return sum(n.type == "identifier" and text_of(n) == name for n in inside(node))


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
    update = update_of(given)
    if update is not None:
        return update.sign
    right = field(given, "right")
    if text_of(field(given, "operator")) != "=":
        return None
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
