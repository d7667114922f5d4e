"""Expressions taken apart: what is called with what, operands of a chain, what a cast is around."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .nodes import text_of
from .types import is_wide_integer

if TYPE_CHECKING:
    from tree_sitter import Node

MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""comparisons of order with their sides swapped"""
_CAST = re.compile(r"static_cast\s*<([^<>]*)>")


def squeezed(node: Node | None) -> str:
    """The text of an expression without blanks."""
    return re.sub(r"\s+", "", text_of(node))


def operator_of(node: Node) -> str:
    """The operator of an expression; empty for none."""
    return text_of(node.child_by_field_name("operator"))


def is_call(node: Node) -> bool:
    """Whether a node calls something; `static_cast<int>(x)` looks like a call as well."""
    return node.type == "call_expression"


def called(call: Node) -> str:
    """What a call calls, as it is written."""
    return text_of(call.child_by_field_name("function"))


def arguments(call: Node) -> list[Node]:
    """The arguments of a call."""
    listed = call.child_by_field_name("arguments")
    return [c for c in listed.named_children if c.type != "comment"] if listed is not None else []


def only_index(subscript: Node) -> Node | None:
    """What stands between the brackets of `x[i]`."""
    listed = subscript.child_by_field_name("indices")
    return (
        listed.named_children[0] if listed is not None and listed.named_child_count == 1 else None
    )


def cast_of(node: Node) -> tuple[str, Node] | None:
    """Type and value of `(int)x`, `static_cast<int>(x)` and `int(x)`; None for anything else."""
    if node.type == "cast_expression":
        value = node.child_by_field_name("value")
        return None if value is None else (text_of(node.child_by_field_name("type")), value)
    if not is_call(node):
        return None
    function, given = node.child_by_field_name("function"), arguments(node)
    if function is None or len(given) != 1:
        return None
    if function.type == "primitive_type":
        return text_of(function), given[0]
    static = _CAST.fullmatch(text_of(function))
    return (static[1], given[0]) if static is not None else None


def bare(node: Node) -> Node:
    """An integer expression without the parentheses and casts around it that keep its value.

    Casts to integers of at least 32 bits do: the program is taken to have no overflow.
    """
    while True:
        cast = cast_of(node)
        inner: Node | None = None
        if node.type == "parenthesized_expression":
            inner = node.named_child(0)
        elif cast is not None and is_wide_integer(cast[0]):
            inner = cast[1]
        if inner is None:
            return node
        node = inner


def operands(node: Node, operator: str) -> list[Node]:
    """The operands of a chain of one operator, casts and parentheses aside."""
    node = bare(node)
    if node.type != "binary_expression" or operator_of(node) != operator:
        return [node]
    sides = (node.child_by_field_name(f) for f in ("left", "right"))
    return [part for side in sides if side is not None for part in operands(side, operator)]
