"""Loads and stores of a kernel's arrays, also through casts and local names: `x[i]`,
`*reinterpret_cast<float4*>(x + i)`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .....runners.c_source.expressions import operator_of
from .....runners.c_source.nodes import text_of, walk
from .....runners.c_source.types import element_type
from .expressions import Locals
from .reading import CudaKernel, Pointer

if TYPE_CHECKING:
    from tree_sitter import Node

CASTS = ("reinterpret_cast", "static_cast", "const_cast")


@dataclass(frozen=True)
class Access:
    """One load or store."""

    node: Node
    """the expression that is the memory: `x[i]` or `*p`"""
    pointer: Pointer
    type: str
    """in C, as the access sees an element: `float4`"""
    mode: Literal["read", "write", "other"]
    """other: both, or its address is taken"""
    address: str
    """a pointer to it, in C"""

    @property
    def nbytes(self) -> int:
        """Bytes that it moves; 0 where the type is not known."""
        element = element_type(self.type)
        return element.nbytes if element is not None else 0


def accesses_of(kernel: CudaKernel, known: Locals) -> tuple[Access, ...]:
    """Every access to the memory behind the kernel's pointer parameters that is plain to see."""
    return tuple(_accesses(kernel, known))


def _accesses(kernel: CudaKernel, known: Locals) -> Iterator[Access]:
    for node in walk(kernel.body):
        if node.type == "subscript_expression":
            base, address = node.child_by_field_name("argument"), f"&{text_of(node)}"
        elif node.type == "pointer_expression" and operator_of(node) == "*":
            base = node.child_by_field_name("argument")
            address = text_of(base)
        else:
            continue
        made = _behind(base, kernel, known)
        if made is not None:
            yield Access(node, made[0], made[1], _mode(node), address)


def _behind(
    node: Node | None, kernel: CudaKernel, known: Locals, depth: int = 16
) -> tuple[Pointer, str] | None:
    """The parameter that a pointer expression leads to, and the type that it points to."""
    if node is None or depth == 0:
        return None
    match node.type:
        case "identifier":
            name = text_of(node)
            if name in kernel.pointers and name not in known.declared:
                return kernel.pointers[name], kernel.pointers[name].type
            return _behind(known.values.get(name), kernel, known, depth - 1)
        case "parenthesized_expression":
            return _behind(node.named_children[0], kernel, known, depth - 1)
        case "cast_expression":
            inner = _behind(node.child_by_field_name("value"), kernel, known, depth - 1)
            return _retyped(inner, text_of(node.child_by_field_name("type")))
        case "call_expression":
            function = node.child_by_field_name("function")
            listed = node.child_by_field_name("arguments")
            if function is None or listed is None or function.type != "template_function":
                return None
            if text_of(function.child_by_field_name("name")) not in CASTS:
                return None
            inner = _behind(listed.named_children[0], kernel, known, depth - 1)
            return _retyped(inner, text_of(function.child_by_field_name("arguments"))[1:-1])
        case "binary_expression" if operator_of(node) in ("+", "-"):
            sides = (node.child_by_field_name(f) for f in ("left", "right"))
            made = [m for s in sides if (m := _behind(s, kernel, known, depth - 1)) is not None]
            return made[0] if len(made) == 1 else None
        case "pointer_expression" if operator_of(node) == "&":
            inner = node.child_by_field_name("argument")
            if inner is None or inner.type != "subscript_expression":
                return None
            return _behind(inner.child_by_field_name("argument"), kernel, known, depth - 1)
        case _:
            return None


def _retyped(found: tuple[Pointer, str] | None, kind: str) -> tuple[Pointer, str] | None:
    if found is None or kind.count("*") != 1:
        return None
    words = [w for w in kind.replace("*", " ").split() if w not in ("const", "__restrict__")]
    return found[0], " ".join(words)


def _mode(node: Node) -> Literal["read", "write", "other"]:
    parent = node.parent
    if parent is None:
        return "other"
    if parent.type == "assignment_expression" and parent.child_by_field_name("left") == node:
        return "write" if operator_of(parent) == "=" else "other"
    if parent.type in ("update_expression", "field_expression", "reference_declarator"):
        return "other"
    if parent.type == "pointer_expression" and operator_of(parent) == "&":
        return "other"
    if parent.type == "init_declarator":
        declarator = parent.child_by_field_name("declarator")
        bound = declarator is not None and declarator.type == "reference_declarator"
        return "other" if bound else "read"
    return "read"
