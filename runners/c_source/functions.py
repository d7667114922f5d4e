"""Functions of C++ and CUDA sources: which could be an entry, and the types of their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .aliases import resolved
from .declarators import declared, function_declarator
from .expressions import is_call
from .nodes import field, parents, qualifiers_of, text_of, walk
from .parsing import parse_cpp
from .structs import struct_element
from .types import QUALIFIERS, Element, element_type

if TYPE_CHECKING:
    from tree_sitter import Node

PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")


@dataclass(frozen=True, slots=True)
class CppParameter:
    """One parameter as it is declared."""

    name: str
    type: str
    """without qualifiers, pointers and references"""
    element: Element | None
    """None: no type that a contract knows"""
    pointers: int
    """levels of `*` and `[]`"""
    const: bool
    """what it points to is const"""
    node: Node
    """its declaration"""
    reference: bool = False
    extent: str | None = None
    """the text between the brackets of `float x[1024]`"""


@dataclass(frozen=True)
class CppFunction:
    """A function that could be an entry."""

    name: str
    parameters: tuple[CppParameter, ...]
    node: Node
    """its definition"""
    listed: Node
    """its parameter list, parentheses included"""
    template: bool

    @property
    def body(self) -> Node:
        """In braces."""
        return field(self.node, "body")


def cpp_functions(source: str, *, cuda: bool) -> tuple[CppFunction, ...]:
    """The functions that could be the entry, in the order of the source.

    CUDA: every `__global__` function. C++: functions with external linkage that take a
    pointer, without those that another of them calls.
    """
    wanted = _callable(source, cuda=cuda)
    if cuda:
        return wanted
    called = {name for f in wanted for name in _called(f.body) if name != f.name}
    return tuple(f for f in wanted if f.name not in called)


def functions_named(source: str, name: str, *, cuda: bool) -> tuple[CppFunction, ...]:
    """Those of that name which could be an entry, one that others of the file call too: in a whole
    program that is where the time goes."""
    return tuple(f for f in _callable(source, cuda=cuda) if f.name == name)


def inner_names(source: str, *, cuda: bool) -> tuple[str, ...]:
    """Names of functions that could be an entry and are called by another one, in order."""
    outer = {f.name for f in cpp_functions(source, cuda=cuda)}
    names = (f.name for f in _callable(source, cuda=cuda))
    return tuple(dict.fromkeys(name for name in names if name not in outer))


def _callable(source: str, *, cuda: bool) -> tuple[CppFunction, ...]:
    """What can be called from outside by its name and is given memory."""
    root = parse_cpp(source.encode()).root_node
    nodes = [n for n in walk(root) if n.type == "function_definition"]
    if cuda:
        nodes = [n for n in nodes if any(c.type == "__global__" for c in n.children)]
        return tuple(f for n in nodes if (f := function_of(n)) is not None)
    outer = [f for n in nodes if not _internal(n) and (f := function_of(n)) is not None]
    return tuple(f for f in outer if f.name != "main" and any(p.pointers for p in f.parameters))


def function_of(definition: Node) -> CppFunction | None:
    """A function with a body and a name of its own; None for a method of a class or an operator."""
    body, declarator = definition.child_by_field_name("body"), function_declarator(definition)
    if declarator is None or body is None:
        return None
    name, listed = (declarator.child_by_field_name(f) for f in ("declarator", "parameters"))
    if name is None or name.type != "identifier" or listed is None:
        return None
    parent = definition.parent
    return CppFunction(
        name=text_of(name),
        parameters=parameters_of(listed),
        node=definition,
        listed=listed,
        template=parent is not None and parent.type == "template_declaration",
    )


def parameters_of(listed: Node) -> tuple[CppParameter, ...]:
    """Those of a parameter list, in order."""
    given = [c for c in listed.children if c.type in PARAMETERS and text_of(c) != "void"]
    return tuple(_parameter(c, at) for at, c in enumerate(given))


def _file_of(node: Node) -> bytes:
    """The text around a node, as far as it was parsed."""
    top = node
    for each in parents(node):
        top = each
    return top.text or b""


def _called(body: Node) -> set[str]:
    return {text_of(n.child_by_field_name("function")) for n in walk(body) if is_call(n)}


def _internal(node: Node) -> bool:
    """Static, in a namespace or class, or a template: nothing that the shim could call by name."""
    if any(c.type == "storage_class_specifier" and text_of(c) == "static" for c in node.children):
        return True
    kept = ("namespace_definition", "class_specifier", "struct_specifier")
    return any(above.type in kept for above in parents(node))


def _element(kind: str, node: Node) -> Element | None:
    if (plain := element_type(kind)) is not None:
        return plain
    source = _file_of(node)
    name = resolved(kind, source)
    return element_type(name) or struct_element(name, source)


def _parameter(node: Node, at: int) -> CppParameter:
    words = text_of(node.child_by_field_name("type")).split()
    kind = " ".join(w for w in words if w not in QUALIFIERS)
    made = declared(node.child_by_field_name("declarator"))
    return CppParameter(
        name=made.name or f"argument{at}",
        type=kind,
        element=_element(kind, node),
        pointers=made.pointers + len(made.sizes),
        const="const" in qualifiers_of(node),
        node=node,
        reference=made.is_reference,
        extent=text_of(made.sizes[0]) or None if made.sizes else None,
    )
