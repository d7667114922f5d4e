"""The text of a loop's body with the conditions left out that have one value inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, text_of
from ...shared.edits import edited, replace_node
from .borders import Comparisons, Rim
from .program import Program

if TYPE_CHECKING:
    from tree_sitter import Node

PLAIN = frozenset({"identifier", "number_literal", "call_expression", "subscript_expression"})
OPEN = frozenset(
    {
        "init_declarator",
        "argument_list",
        "subscript_argument_list",
        "condition_clause",
        "parenthesized_expression",
    }
)
"""where an expression needs no parentheses"""


class Folding:
    """The text of a body with what is decided inside left out."""

    def __init__(self, program: Program, comparisons: Comparisons, rim: Rim) -> None:
        self._program, self._comparisons, self._rim = program, comparisons, rim

    def render(self, node: Node) -> str:
        """The text of a node, from its start to its end."""
        whole = self._whole(node)
        if whole is not None:
            return whole
        edits = [
            replace_node(child, new)
            for child in node.named_children
            if (new := self.render(child)) != self._program.text(child)
        ]
        return edited(self._program.source, edits, node.start_byte, node.end_byte)

    def value(self, node: Node) -> bool | None:
        """Of a condition inside; None: it is not decided."""
        if node.type in ("parenthesized_expression", "condition_clause"):
            given = node.child_by_field_name("value") or node.named_children[0]
            return self.value(given)
        if node.type == "unary_expression" and text_of(node.children[0]) == "!":
            inner = self.value(field(node, "argument"))
            return None if inner is None else not inner
        if node.type != "binary_expression":
            return None
        sign = text_of(node.children[1])
        if sign not in ("&&", "||"):
            return self._comparisons.value(node, self._rim)
        both = (self.value(field(node, "left")), self.value(field(node, "right")))
        decides = sign == "||"
        if decides in both:
            return decides
        return None if None in both else not decides

    def _whole(self, node: Node) -> str | None:
        """What takes the place of a node that is decided, in part or all; None: nothing does."""
        match node.type:
            case "conditional_expression":
                decided = self.value(field(node, "condition"))
                if decided is None:
                    return None
                branch = "consequence" if decided else "alternative"
                return self._in_place(field(node, branch), node)
            case "if_statement":
                return self._branch(node)
            case "call_expression":
                chosen = self._comparisons.chosen(node, self._rim)
                return None if chosen is None else self._in_place(chosen, node)
            case "binary_expression" if text_of(node.children[1]) in ("&&", "||"):
                return self._part(node)
            case "binary_expression":
                decided = self.value(node)
                return None if decided is None else str(decided).lower()
            case _:
                return None

    def _branch(self, node: Node) -> str | None:
        condition = field(node, "condition")
        if condition.child_by_field_name("initializer") is not None:
            return None
        decided = self.value(condition)
        if decided is None:
            return None
        if decided:
            return self.render(field(node, "consequence"))
        other = node.child_by_field_name("alternative")
        return ";" if other is None else self.render(other.named_children[0])

    def _part(self, node: Node) -> str | None:
        decided = self.value(node)
        if decided is not None:
            return str(decided).lower()
        left, right = field(node, "left"), field(node, "right")
        for one, other in ((left, right), (right, left)):
            if self.value(one) is not None:  # it changes nothing: true of &&, false of ||
                return self._in_place(other, node)
        return None

    def _in_place(self, chosen: Node, of: Node) -> str:
        while chosen.type == "parenthesized_expression":
            chosen = chosen.named_children[0]
        code = self.render(chosen)
        above = of.parent
        open_ = above is not None and (above.type in OPEN or _binds_alike(above, chosen))
        return code if chosen.type in PLAIN or open_ else f"({code})"


def _binds_alike(above: Node, chosen: Node) -> bool:
    """Whether both are && or both are ||."""
    if above.type != "binary_expression" or chosen.type != "binary_expression":
        return False
    return text_of(above.children[1]) == text_of(chosen.children[1]) in ("&&", "||")
