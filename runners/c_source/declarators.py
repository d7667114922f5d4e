"""What a declarator declares: `*p`, `&r`, `x[4][8]`, `(*rows)[8]`, `f(int n)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .nodes import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

NAMES = frozenset({"identifier", "field_identifier", "qualified_identifier"})
_POINTERS = ("pointer_declarator", "abstract_pointer_declarator")
_ARRAYS = ("array_declarator", "abstract_array_declarator")


@dataclass(frozen=True, slots=True)
class Declared:
    """One name of a declaration, with all that is around it there."""

    name: str
    """empty: none, as of a parameter that is not used"""
    node: Node | None
    """where the name stands"""
    pointers: int
    """how many `*`"""
    sizes: tuple[Node | None, ...]
    """what stands between the brackets, from the first; None: nothing"""
    is_reference: bool
    is_function: bool

    @property
    def is_plain(self) -> bool:
        """A value: neither a pointer nor an array, a reference or a function."""
        if self.node is not None and self.node.parent is not None:
            if self.node.parent.type == "structured_binding_declarator":
                return False
        return not (self.pointers or self.sizes or self.is_reference or self.is_function)


def declared(declarator: Node | None) -> Declared:
    """What a declarator, with or without a value, says of its name."""
    pointers, reference, function = 0, False, False
    sizes: list[Node | None] = []
    inner = declarator
    while inner is not None and inner.type not in NAMES:
        pointers += inner.type in _POINTERS
        reference = reference or "reference_declarator" in inner.type
        function = function or inner.type == "function_declarator"
        if inner.type in _ARRAYS:
            sizes.insert(0, inner.child_by_field_name("size"))
        inner = _inner(inner)
    return Declared(text_of(inner), inner, pointers, tuple(sizes), reference, function)


def declared_name(declarator: Node | None) -> str:
    """The name that a declarator gives to something; empty for none."""
    return declared(declarator).name


def function_declarator(definition: Node) -> Node | None:
    """The part of a function's definition that has its name and its parameters."""
    found = definition.child_by_field_name("declarator")
    while found is not None and found.type != "function_declarator":
        found = _inner(found)
    return found


def single_declaration(node: Node) -> tuple[str, str, Node] | None:
    """Name, type and value of a declaration of one variable with a value; None for any other."""
    declarators = node.children_by_field_name("declarator")
    if node.type != "declaration" or len(declarators) != 1:
        return None
    (declarator,) = declarators
    value, made = declarator.child_by_field_name("value"), declared(declarator)
    if declarator.type != "init_declarator" or value is None or not made.is_plain:
        return None
    return made.name, text_of(node.child_by_field_name("type")), unbraced(value)


def unbraced(value: Node) -> Node:
    """What a variable begins with: of `int n{8}` the 8."""
    if value.type == "initializer_list" and value.named_child_count == 1:
        return value.named_children[0]
    return value


def _inner(declarator: Node) -> Node | None:
    """What it is around; a reference or a parenthesis names its part nowhere."""
    named = (c for c in declarator.named_children if c.type.endswith(("declarator", "identifier")))
    return declarator.child_by_field_name("declarator") or next(named, None)
