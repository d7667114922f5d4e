"""Whether an integer expression of C++ is the number that its form says, where some of it has no
sign: below 0 it would wrap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .....runners.c_source.expressions import cast_of
from .....runners.c_source.nodes import text_of
from .....runners.c_source.types import may_be_unsigned
from .scope import Scope

if TYPE_CHECKING:
    from tree_sitter import Node


def pieces(node: Node, scope: Scope) -> Iterator[Node]:
    """The expression and all that it is made of, what stands behind its names as well."""
    pending, seen = [node], set[int]()
    while pending:
        found = pending.pop()
        if found.id in seen:
            continue
        seen.add(found.id)
        yield found
        if found.type == "identifier":
            value = scope.value(text_of(found), found)
            pending += [] if value is None else [value]
        elif (cast := cast_of(found)) is not None:
            pending.append(cast[1])
        elif found.type in ("parenthesized_expression", "unary_expression", "binary_expression"):
            pending += found.named_children


def has_unsigned(node: Node, scope: Scope) -> bool:
    """Whether something without a sign takes part, or something of a type that is not known."""
    return any(_unsigned(piece, scope) for piece in pieces(node, scope))


def _unsigned(piece: Node, scope: Scope) -> bool:
    if piece.type == "number_literal":
        return "u" in text_of(piece).lower()
    cast = cast_of(piece)
    if cast is not None:
        return may_be_unsigned(cast[0])
    if piece.type in ("identifier", "field_expression"):
        kind = scope.kind(text_of(piece), piece)
        return kind != "auto" and may_be_unsigned(kind)
    return False
