"""Whether an expression is a float, a double or an integer, as far as names and literals tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, inside, text_of
from .program import Function

if TYPE_CHECKING:
    from tree_sitter import Node

INTEGRAL = re.compile(r"\b(int|unsigned|long|short|char|bool|\w*size_t|u?int\d+_t)\b")
WIDTH = {"int": 0, "float": 1, "double": 2}
SAME = frozenset({"abs", "fabs", "max", "min", "sqrt", "exp", "tanh", "log", "pow", "floor"})
"""functions of std that give what they are given; an integer makes a double"""


def kind_of(node: Node, function: Function) -> str | None:
    """`float`, `double` or `int` (any integer); None: it is not told."""
    match node.type:
        case "parenthesized_expression":
            return kind_of(node.named_children[0], function)
        case "number_literal":
            return _of_literal(text_of(node))
        case "identifier":
            return _of_name(text_of(node), function)
        case "subscript_expression":
            return kind_of(field(node, "argument"), function)
        case "pointer_expression" if text_of(node.children[0]) == "*":
            return kind_of(field(node, "argument"), function)
        case "unary_expression":
            return kind_of(field(node, "argument"), function)
        case "binary_expression":
            return _wider(
                kind_of(field(node, "left"), function), kind_of(field(node, "right"), function)
            )
        case "cast_expression":
            return named_kind(text_of(field(node, "type")))
        case "call_expression":
            return _of_call(node, function)
        case _:
            return None


def named_kind(name: str) -> str | None:
    """Of a type as it is written."""
    if "float" in name:
        return "float"
    if "double" in name:
        return "double"
    return "int" if INTEGRAL.search(name) else None


def _of_literal(literal: str) -> str:
    if literal.lower().startswith("0x"):
        return "int"
    if literal[-1] in "fF":
        return "float"
    return "double" if any(c in literal for c in ".eE") else "int"


def _of_name(name: str, function: Function) -> str | None:
    found = set[str | None]()
    for node in inside(function.node):
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        for each in node.children_by_field_name("declarator"):
            names = [text_of(n) for n in inside(each) if n.type == "identifier"]
            if names and names[0] == name:
                found.add(_declared(node, each, function))
    return found.pop() if len(found) == 1 else None


def _declared(declaration: Node, declarator: Node, function: Function) -> str | None:
    kind = text_of(field(declaration, "type"))
    value = declarator.child_by_field_name("value")
    if kind == "auto" and value is not None:
        return kind_of(value, function)
    return named_kind(kind)


def _of_call(node: Node, function: Function) -> str | None:
    called, given = text_of(field(node, "function")), field(node, "arguments").named_children
    if called.startswith("static_cast<"):
        return named_kind(called)
    if not given:
        return None
    if called.removeprefix("std::") in ("expf", "sqrtf", "tanhf", "fabsf", "logf", "powf"):
        return "float"
    if called.startswith("std::") and called.removeprefix("std::").partition("<")[0] in SAME:
        kind: str | None = kind_of(given[0], function)
        for each in given[1:]:
            kind = _wider(kind, kind_of(each, function))
        return "double" if kind == "int" and "max" not in called and "min" not in called else kind
    return _returned(called, function)


def _returned(name: str, function: Function) -> str | None:
    """What a function of the same source gives."""
    root = function.node
    while root.parent is not None:
        root = root.parent
    for node in inside(root):
        if node.type == "function_definition" and Function(node).name == name:
            return named_kind(text_of(node.child_by_field_name("type")))
    return None


def _wider(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return None
    return max(one, other, key=WIDTH.__getitem__)
