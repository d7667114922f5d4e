"""Values between which the variable of a loop is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....runners.c_source.nodes import field, text_of
from ...shared.affine import Form
from .program import Loop
from .scope import Scope

if TYPE_CHECKING:
    from tree_sitter import Node


def bounds(loop: Loop, scope: Scope) -> tuple[Form, Form] | None:
    """Values between which a loop's variable surely is: the lowest, and the first beyond."""
    lower, upper = _lowest(loop.lower, scope), _highest(loop.bound, scope)
    if lower is None or upper is None:
        return None
    return lower, upper + Form.number(1) if loop.inclusive else upper


def _lowest(node: Node, scope: Scope) -> Form | None:
    """A form that the expression is never below: of `max(a, b)` a; of `a - b % c` a - b."""
    form = scope.form(node)
    if form is not None:
        return form
    if given := _given(node, "max"):
        known = [f for each in given if (f := scope.form(each)) is not None]
        return next((f for f in known if f.constant is not None), known[0] if known else None)
    if node.type != "binary_expression" or text_of(node.children[1]) != "-":
        return None
    left, right = scope.form(field(node, "left")), field(node, "right")
    if right.type != "binary_expression" or text_of(right.children[1]) != "%" or left is None:
        return None
    divided = scope.form(field(right, "left"))
    if divided is None or not divided.at_least(0, scope.lowest):
        return None
    return left - divided


def _highest(node: Node, scope: Scope) -> Form | None:
    """A form that the expression is never above: of `min(a, b)` the one with names."""
    form = scope.form(node)
    if form is not None:
        return form
    known = [f for each in _given(node, "min") if (f := scope.form(each)) is not None]
    return next((f for f in known if f.names), known[0] if known else None)


def _given(node: Node, function: str) -> tuple[Node, ...]:
    """What a call of std::min or std::max is given; nothing for anything else."""
    if node.type != "call_expression":
        return ()
    called = text_of(field(node, "function")).removeprefix("std::").partition("<")[0]
    given = field(node, "arguments").named_children
    return tuple(given) if called == function and len(given) == 2 else ()
