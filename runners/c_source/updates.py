"""Assignments that change what is there: `a += b`, and the same thing written out, `a = a + b`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .expressions import operator_of, squeezed
from .nodes import walk

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNS = {"+=": "+", "-=": "+", "*=": "*"}


@dataclass(frozen=True)
class Update:
    """One assignment by which `target` becomes itself with something added or multiplied."""

    target: Node
    sign: str
    """+ for sums and differences, * for products"""


def update_of(node: Node) -> Update | None:
    """The update that an assignment is, however it is spelled; None for any other.

    `a += b`, `a -= b`, `a *= b`, `a = a + b`, `a = b + a`, `a = a - b`, `a = a + b - c`,
    `a = b * a`. What is added or multiplied does not name the target; a target is a name, or an
    element as its text spells it.
    """
    target, value = (node.child_by_field_name(f) for f in ("left", "right"))
    if node.type != "assignment_expression" or target is None or value is None:
        return None
    operator, name = operator_of(node), squeezed(target)
    if operator in _SIGNS:
        return None if _named(name, value) else Update(target, _SIGNS[operator])
    if operator != "=" or _named(name, value) != 1:
        return None
    for sign, operators in (("+", ("+", "-")), ("*", ("*",))):
        if _is_operand(name, value, operators):
            return Update(target, sign)
    return None


def _named(name: str, value: Node) -> int:
    """How often an expression with this text occurs."""
    return sum(squeezed(each) == name for each in walk(value) if each.is_named and _is_place(each))


def _is_place(node: Node) -> bool:
    return node.type in ("identifier", "subscript_expression", "pointer_expression")


def _is_operand(name: str, value: Node, operators: tuple[str, ...]) -> bool:
    """Whether the name is an operand of a chain that is left as it is: not behind a minus."""
    chain = _bare(value)
    left, right = (chain.child_by_field_name(f) for f in ("left", "right"))
    operator = operator_of(chain)
    if chain.type != "binary_expression" or left is None or right is None:
        return False
    if operator not in operators:
        return False
    if squeezed(left) == name or (operator != "-" and squeezed(right) == name):
        return True
    return _is_operand(name, left, operators)


def _bare(node: Node) -> Node:
    """Without parentheses around it."""
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    return node
