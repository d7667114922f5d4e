"""What names mean in the host functions around a launch: what they are first given, and which
integers a function takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..c_source.functions import PARAMETERS
from ..c_source.nodes import field, text_of, walk
from ..c_source.parsing import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_INTEGER = re.compile(r"(?:(?:std::)?(?:u?int\d*(?:_t)?|s?size_t|unsigned|long|short)\s*)+")


def takes(function: Node, name: str) -> bool:
    """Whether a function has an integer parameter of that name."""
    for each in walk(field(function, "declarator")):
        if each.type in PARAMETERS and text_of(each.child_by_field_name("declarator")) == name:
            return _INTEGER.fullmatch(text_of(field(each, "type"))) is not None
    return False


def given_in(scope: Node, name: str, before: int, without: Sequence[str]) -> Node | None:
    """What a declaration in a scope gives a name; a macro's text as an expression."""
    found: Node | None = None
    for node in walk(scope, without):
        if node.start_byte >= before:
            break
        if node.type == "init_declarator" and text_of(field(node, "declarator")) == name:
            found = field(node, "value")
        elif node.type == "function_declarator" and _is_made(node, name):
            found = expression_of(f"dim3{text_of(field(node, 'parameters'))}")
        elif node.type == "preproc_def" and text_of(field(node, "name")) == name:
            found = expression_of(text_of(node.child_by_field_name("value")))
        elif node.type == "assignment_expression" and text_of(field(node, "left")) == name:
            found = field(node, "right")
    return found


def _is_made(declarator: Node, name: str) -> bool:
    """Whether `dim3 grid(rows)` makes that name; it reads like a function that takes a `rows`."""
    around = declarator.parent
    return (
        text_of(declarator.child_by_field_name("declarator")) == name
        and around is not None
        and text_of(around.child_by_field_name("type")) == "dim3"
    )


def expression_of(text: str) -> Node | None:
    """A text as an expression; None where it is none."""
    root = parse_cpp(f"int v = {text};".encode()).root_node
    return next((field(n, "value") for n in walk(root) if n.type == "init_declarator"), None)
