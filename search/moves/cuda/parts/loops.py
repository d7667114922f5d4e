"""`for` loops of a kernel, as far as they are plain: variable, start, bound and step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.inferring.cpp_signature import text_of, walk
from .expressions import operator_of

if TYPE_CHECKING:
    from tree_sitter import Node

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


@dataclass(frozen=True)
class Loop:
    """`for (type variable = start; variable < bound; variable += step) body`."""

    node: Node
    variable: str
    type: str
    start: Node
    bound: Node
    inclusive: bool
    """`<=` in place of `<`"""
    step: Node | None
    """None: 1"""
    body: Node

    @property
    def trips(self) -> int | None:
        """How often the body runs, where that is written in numbers."""
        texts = [text_of(self.start), text_of(self.bound), text_of(self.step) or "1"]
        if not all(t.isdigit() for t in texts):
            return None
        start, bound, step = map(int, texts)
        return max(0, -(-(bound + self.inclusive - start) // step)) if step else None


def plain_loop(node: Node) -> Loop | None:
    """The loop that a for_statement is; None: not of the plain form."""
    fields = ("initializer", "condition", "update", "body")
    start, test, update, body = (node.child_by_field_name(f) for f in fields)
    if node.type != "for_statement" or not (start and test and update and body):
        return None
    declared = start.child_by_field_name("declarator")
    if start.type != "declaration" or declared is None or declared.type != "init_declarator":
        return None
    name, value = (declared.child_by_field_name(f) for f in ("declarator", "value"))
    left, right = (test.child_by_field_name(f) for f in ("left", "right"))
    if not (name and value and left and right) or text_of(left) != text_of(name):
        return None
    if operator_of(test) not in ("<", "<=", "!="):
        return None
    stepped, step = _step(update, text_of(name))
    if not stepped:
        return None
    kind = text_of(start.child_by_field_name("type"))
    inclusive = operator_of(test) == "<="
    return Loop(node, text_of(name), kind, value, right, inclusive, step, body)


def _step(update: Node, name: str) -> tuple[bool, Node | None]:
    """Whether the update adds to the variable, and what (None: 1)."""
    if update.type == "update_expression":
        argument = text_of(update.child_by_field_name("argument"))
        return argument == name and operator_of(update) == "++", None
    if update.type == "assignment_expression" and operator_of(update) == "+=":
        added = update.child_by_field_name("right")
        return text_of(update.child_by_field_name("left")) == name and added is not None, added
    return False, None


def innermost_loops(body: Node) -> Iterator[Node]:
    """The for statements without a loop in them, in the order of the source."""
    for node in walk(body):
        if node.type == "for_statement":
            inner = node.child_by_field_name("body")
            if inner is not None and not any(n.type in LOOPS for n in walk(inner)):
                yield node


def pragma_above(node: Node) -> Node | None:
    """The `#pragma unroll` right before a loop."""
    above = node.prev_sibling
    if above is None or above.type != "preproc_call":
        return None
    return above if text_of(above).split()[:2] == ["#pragma", "unroll"] else None
