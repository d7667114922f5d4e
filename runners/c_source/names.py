"""Names in a piece of code: which occur, where, and which change."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from .expressions import operator_of
from .nodes import inside, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node


def names_in(node: Node) -> frozenset[str]:
    """Every identifier beneath a node; members and types are none."""
    return frozenset(text_of(n) for n in walk(node) if n.type == "identifier")


def uses_of(name: str, node: Node) -> list[Node]:
    """Where a name occurs beneath a node, in order."""
    return [n for n in walk(node) if n.type == "identifier" and text_of(n) == name]


def written_by(node: Node) -> Node | None:
    """What an assignment, `++` or `--` writes; None for any other node."""
    named = {"assignment_expression": "left", "update_expression": "argument"}.get(node.type)
    return None if named is None else _unwrapped(node.child_by_field_name(named))


def lent_by(node: Node) -> Node | None:
    """What may be written elsewhere from now on, by its address or through a reference."""
    if node.type == "pointer_expression" and operator_of(node) == "&":
        return _unwrapped(node.child_by_field_name("argument"))
    if node.type == "reference_declarator" and node.parent is not None:
        return _unwrapped(node.parent.child_by_field_name("value"))
    return None


def _unwrapped(node: Node | None) -> Node | None:
    while node is not None and node.type == "parenthesized_expression":
        node = node.named_child(0)
    return node


@lru_cache(maxsize=256)  # asked of the same few bodies for every name in them
def changed_in(code: Node) -> frozenset[str]:
    """What a piece of code writes or lends, as it is spelled there without blanks.

    Not what a declaration begins with. A name that is in here stands for no one value.
    """
    found = ((written_by(n), lent_by(n)) for n in inside(code))
    nodes = (n for pair in found for n in pair if n is not None)
    return frozenset("".join(text_of(n).split()) for n in nodes)
