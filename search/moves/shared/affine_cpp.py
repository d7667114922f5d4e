"""How integer expressions of C++ and CUDA become forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....runners.c_source.expressions import cast_of
from ....runners.c_source.literals import integer_value
from ....runners.c_source.nodes import text_of
from ....runners.c_source.types import is_wide_integer
from .affine import Form

if TYPE_CHECKING:
    from tree_sitter import Node

Resolve = Callable[[str], Form | None]
"""what a name stands for; None: nothing that has a form"""


def form_of(node: Node, resolve: Resolve) -> Form | None:
    """The form of an integer expression of C++ or CUDA; None where it has none.

    Sums, differences and products of integer literals and names; parentheses are looked through,
    and casts to integers that hold every index. Nothing is known of overflow: the program is
    taken to have none.
    """
    match node.type:
        case "parenthesized_expression":
            return form_of(node.named_children[0], resolve) if node.named_child_count else None
        case "number_literal":
            number = integer_value(text_of(node))
            return None if number is None else Form.number(number)
        case "identifier" | "field_expression":
            return resolve(text_of(node))
        case "cast_expression" | "call_expression":
            cast = cast_of(node)
            return form_of(cast[1], resolve) if cast and is_wide_integer(cast[0]) else None
        case "unary_expression":
            inner = _field(node, "argument", resolve)
            sign = text_of(node.children[0])
            return None if inner is None else {"-": -inner, "+": inner}.get(sign)
        case "binary_expression":
            return _binary(node, resolve)
        case _:
            return None


def _binary(node: Node, resolve: Resolve) -> Form | None:
    left, right = _field(node, "left", resolve), _field(node, "right", resolve)
    if left is None or right is None:
        return None
    match text_of(node.children[1]):
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "<<" if right.constant is not None and 0 <= right.constant < 63:
            return left * Form.number(1 << right.constant)
        case _:
            return None


def _field(node: Node, field: str, resolve: Resolve) -> Form | None:
    child = node.child_by_field_name(field)
    return None if child is None else form_of(child, resolve)
