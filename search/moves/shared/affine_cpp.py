"""How integer expressions of C++ and CUDA become forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .affine import Form

if TYPE_CHECKING:
    from tree_sitter import Node

Resolve = Callable[[str], Form | None]
"""what a name stands for; None: nothing that has a form"""

NARROWING = re.compile(r"float|double|half|char|short|bool|int8|int16")
"""types that do not hold every index"""


def form_of(node: Node, resolve: Resolve) -> Form | None:
    """The form of an integer expression of C++ or CUDA; None where it has none.

    Sums, differences and products of integer literals and names; casts and parentheses are
    looked through. Nothing is known of overflow: the program is taken to have none.
    """
    match node.type:
        case "parenthesized_expression":
            return form_of(node.named_children[0], resolve) if node.named_child_count else None
        case "number_literal":
            return _literal(_text(node))
        case "identifier" | "field_expression":
            return resolve(_text(node))
        case "cast_expression" if _keeps_integers(node.child_by_field_name("type")):
            return _field(node, "value", resolve)
        case "call_expression":
            return _cast(node, resolve)
        case "unary_expression":
            inner = _field(node, "argument", resolve)
            sign = _text(node.children[0])
            return None if inner is None else {"-": -inner, "+": inner}.get(sign)
        case "binary_expression":
            return _binary(node, resolve)
        case _:
            return None


def _binary(node: Node, resolve: Resolve) -> Form | None:
    left, right = _field(node, "left", resolve), _field(node, "right", resolve)
    if left is None or right is None:
        return None
    match _text(node.children[1]):
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


def _cast(node: Node, resolve: Resolve) -> Form | None:
    """Of `static_cast<int>(x)` and `int(x)`."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None or given.named_child_count != 1:
        return None
    static = _text(function).startswith("static_cast<")
    if (static or function.type == "primitive_type") and _keeps_integers(function):
        return form_of(given.named_children[0], resolve)
    return None


def _keeps_integers(kind: Node | None) -> bool:
    return kind is not None and not NARROWING.search(_text(kind))


def _literal(text: str) -> Form | None:
    digits = text.replace("'", "").rstrip("uUlLzZ")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        return Form.number(int(digits, 8 if octal else 0))
    except ValueError:
        return None


def _text(node: Node) -> str:
    return (node.text or b"").decode()
