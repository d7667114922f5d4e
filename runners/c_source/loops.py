"""`for` loops that count, as their heads say it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .declarators import declared, unbraced
from .expressions import MIRRORED, operator_of
from .names import changed_in, written_by
from .nodes import qualifiers_of, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_RELATIONS = frozenset({"<", "<=", "!="})


@dataclass(frozen=True)
class ForLoop:
    """`for (kind variable = start; variable < bound; variable += step) body`, however spelled."""

    node: Node
    variable: str
    kind: str
    """the variable's type as it is written; empty: declared before the loop"""
    start: Node
    relation: str
    """of the variable to the bound: `<`, `<=` or `!=`"""
    bound: Node
    step: Node | None
    """what is added; None: 1"""
    body: Node
    alone: bool
    """the head declares nothing else"""

    @property
    def inclusive(self) -> bool:
        """Whether the bound itself is a value of the variable."""
        return self.relation == "<="

    @property
    def trips(self) -> int | None:
        """How often the body runs, where that is written in numbers."""
        texts = [text_of(self.start), text_of(self.bound), text_of(self.step) or "1"]
        if not all(t.isdigit() for t in texts):
            return None
        start, bound, step = map(int, texts)
        return max(0, -(-(bound + self.inclusive - start) // step)) if step else None

    @property
    def counts_alone(self) -> bool:
        """Whether nothing in the body changes the variable: the head alone says its values."""
        return self.variable not in changed_in(self.body)


def for_loop(node: Node) -> ForLoop | None:
    """The loop that a for_statement's head is; None: it counts down, or is of another form."""
    fields = ("initializer", "condition", "update", "body")
    start, test, update, body = (node.child_by_field_name(f) for f in fields)
    if node.type != "for_statement" or not (start and test and update and body):
        return None
    bounded = _bounded(test)
    if bounded is None:
        return None
    variable, relation, bound = bounded
    begun, (steps, step) = _begun(start, variable), _step(update, variable)
    if begun is None or not steps:
        return None
    kind, value = begun
    alone = len(start.children_by_field_name("declarator")) < 2
    return ForLoop(node, variable, kind, value, relation, bound, step, body, alone)


def innermost_loops(body: Node) -> Iterator[Node]:
    """The for statements without a loop in them, in the order of the source."""
    for node in walk(body):
        if node.type == "for_statement":
            inner = node.child_by_field_name("body")
            if inner is not None and not any(n.type in LOOPS for n in walk(inner)):
                yield node


def _begun(start: Node, variable: str) -> tuple[str, Node] | None:
    """The type of the variable, empty where it is declared before, and its first value."""
    if start.type == "assignment_expression" and operator_of(start) == "=":
        value = start.child_by_field_name("right")
        same = text_of(start.child_by_field_name("left")) == variable
        return ("", value) if same and value is not None else None
    if start.type != "declaration" or qualifiers_of(start):
        return None
    for declarator in start.children_by_field_name("declarator"):
        made, value = declared(declarator), declarator.child_by_field_name("value")
        if made.name == variable and made.is_plain and value is not None:
            return text_of(start.child_by_field_name("type")), unbraced(value)
    return None


def _bounded(test: Node) -> tuple[str, str, Node] | None:
    """Variable, relation and bound, whichever side the variable is on."""
    left, right = (test.child_by_field_name(f) for f in ("left", "right"))
    relation = operator_of(test)
    if test.type != "binary_expression" or left is None or right is None:
        return None
    if relation in (">", ">="):
        left, right, relation = right, left, MIRRORED[relation]
    return (text_of(left), relation, right) if relation in _RELATIONS else None


def _step(update: Node, variable: str) -> tuple[bool, Node | None]:
    """Whether the update adds to the variable, and what (None: 1)."""
    operator = operator_of(update)
    if text_of(written_by(update)) != variable:
        return False, None
    if update.type == "update_expression":
        return operator == "++", None
    added = update.child_by_field_name("right")
    if operator == "+=":
        return added is not None, added
    if operator != "=" or added is None or operator_of(added) != "+":
        return False, None
    sides = [added.child_by_field_name(f) for f in ("left", "right")]
    others = [n for n in sides if text_of(n) != variable]
    return len(others) == 1, others[0] if len(others) == 1 else None
