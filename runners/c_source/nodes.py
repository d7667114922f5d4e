"""Nodes of the tree: their texts, their fields, and what stands in or around them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def text_of(node: Node | None) -> str:
    """What the source says there; empty without a node."""
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def field(node: Node, name: str) -> Node:
    """A field that the grammar always fills; ValueError where the source breaks off."""
    child = node.child_by_field_name(name)
    if child is None:
        raise ValueError(f"`{text_of(node)}` has no {name}")
    return child


def walk(node: Node, without: Collection[str] = ()) -> Iterator[Node]:
    """Every node beneath, parents first, in the order of the source; no recursion.

    `without`: types of nodes that are left out with all that is in them.
    """
    pending = [node]
    while pending:
        found = pending.pop()
        if found.type not in without:
            yield found
            pending.extend(reversed(found.children))


def inside(node: Node) -> Iterator[Node]:
    """As `walk`, words and signs of the language left out, and comments."""
    pending = [node]
    while pending:
        found = pending.pop()
        if found.type != "comment":
            yield found
            pending.extend(reversed(found.named_children))


def parents(node: Node) -> Iterator[Node]:
    """What the node stands in, from the innermost."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def top_of(node: Node) -> Node:
    """The item of the file that the node stands in: with `extern "C"`, or a block of it."""
    found = node
    while found.parent is not None and found.parent.type != "translation_unit":
        found = found.parent
    return found


def root_of(node: Node) -> Node:
    """The whole file."""
    found = node
    while found.parent is not None:
        found = found.parent
    return found


def contains(outer: Node, inner: Node) -> bool:
    """Whether the one is, or stands in, the other."""
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def qualifiers_of(declaration: Node) -> frozenset[str]:
    """`const`, `__shared__` and their like, as a declaration or parameter has them itself."""
    return frozenset(text_of(c) for c in declaration.children if c.type == "type_qualifier")


def statements_of(body: Node) -> tuple[Node, ...]:
    """Those in braces, else the one there is; comments left out."""
    if body.type != "compound_statement":
        return (body,)
    return tuple(n for n in body.named_children if n.type != "comment")
