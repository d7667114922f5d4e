"""Calls of a file's own small helpers and macros as the expressions that they stand for:
`GRID(n)` of `#define GRID(n) (((n) + 255) / 256)`, or of a function that only returns it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..c_source.functions import PARAMETERS
from ..c_source.nodes import field, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(r"[A-Za-z_]\w*")
_EXTREME = {"<": ("min", "max"), "<=": ("min", "max"), ">": ("max", "min"), ">=": ("max", "min")}


def inlined(root: Node, name: str, given: Sequence[str]) -> str | None:
    """The text of a call with these arguments; None where the file has no macro or function of one
    `return` by that name."""
    for node in walk(root):
        if node.type == "preproc_function_def" and text_of(field(node, "name")) == name:
            value = node.child_by_field_name("value")
            names = [text_of(each) for each in field(node, "parameters").named_children]
            return None if value is None else _put(text_of(value), names, given)
        if node.type == "function_definition":
            found = _returned(node, name)
            if found is not None:
                return _put(found[1], found[0], given)
    return None


def _returned(function: Node, name: str) -> tuple[list[str], str] | None:
    """Parameters of a function of that name, and what it returns where it does nothing else."""
    declarator = field(function, "declarator")
    called = declarator.child_by_field_name("declarator")
    body = function.child_by_field_name("body")
    if called is None or body is None or text_of(called) != name:
        return None
    statements = [each for each in body.named_children if each.type != "comment"]
    if len(statements) != 1 or statements[0].type != "return_statement":
        return None
    taken = [e for e in field(declarator, "parameters").named_children if e.type in PARAMETERS]
    names = [text_of(each.child_by_field_name("declarator")) for each in taken]
    values = [each for each in statements[0].named_children if each.type != "comment"]
    return (names, text_of(values[0])) if len(values) == 1 else None


def _put(text: str, names: Sequence[str], given: Sequence[str]) -> str | None:
    if len(names) != len(given):
        return None
    known = {name: f"({value})" for name, value in zip(names, given, strict=True)}
    return _WORD.sub(lambda word: known.get(word[0], word[0]), text.replace("\\\n", " "))


def extreme(condition: tuple[str, str, str], yes: str, no: str) -> str | None:
    """`max(m, n)` of `m > n ? m : n`; None for another choice."""
    left, operator, right = condition
    if operator not in _EXTREME or {left, right} != {yes, no}:
        return None
    return f"{_EXTREME[operator][yes != left]}({left}, {right})"
