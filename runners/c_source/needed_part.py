"""What of a file a kernel needs: its definition, what that names, and what that names in turn.

A file holds more than kernels and functions: variables of libraries of the host, classes that hold
vectors, tables of tests. A compiler of device code alone refuses them, and no kernel names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .nodes import text_of, walk
from .parsing import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(r"[A-Za-z_]\w*")
_LINKAGE = re.compile(
    r"^[ \t]*#[ \t]*(?:ifdef[ \t]+__cplusplus|if[ \t]+defined\W*__cplusplus\W*?)[ \t]*\n\s*"
    r"(?:extern[ \t]+\"C\"\s*\{|\})[^\n#]*\n\s*#[ \t]*endif[^\n]*",
    re.MULTILINE,
)
"""what headers that C reads too begin and end with, each a brace that has no other in its place"""
_NAMES = ("identifier", "type_identifier", "namespace_identifier", "field_identifier")
_TYPES = ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier")
AROUND = (
    "translation_unit", "namespace_definition", "declaration_list", "linkage_specification",
    "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif",
)  # fmt: skip
"""what items of a file stand in"""
_KEPT = ("using_declaration", "namespace_alias_definition", "comment", "preproc_include",
         "preproc_call", "preproc_def", "preproc_function_def", "preproc_directive")  # fmt: skip
"""what is no item: it stays"""
_LEFT_OUT = ("ERROR", "expression_statement", "static_assert_declaration")


@dataclass(frozen=True)
class _Item:
    node: Node
    names: frozenset[str]
    """what it defines or declares"""
    needs: frozenset[str]


def needed_part(source: str, entry: str, headers: frozenset[str]) -> str:
    """The source with lines of the same number and nothing in the places of what `entry`, the name
    of a function, does not need, and of `#include` of any but these headers.

    All else of the preprocessor stays, and so do operators of the device, which nobody names.
    """
    data = bytearray(_LINKAGE.sub(_as_blanks, source).encode())
    root = parse_cpp(bytes(data)).root_node
    items = list(_items(root))
    needed, open_ = set[str](), {entry}
    macros = _macros(root)
    kept = {each.node.id for each in items if _is_device_operator(each)}
    open_ |= {name for each in items if each.node.id in kept for name in each.needs}
    while open_:
        name = open_.pop()
        if name in needed:
            continue
        needed.add(name)
        open_ |= macros.get(name, frozenset())
        for each in items:
            if name in each.names and each.node.id not in kept:
                kept.add(each.node.id)
                open_ |= each.needs
    gone = [each.node for each in items if each.node.id not in kept]
    gone += [
        node
        for node in walk(root)
        if node.type == "preproc_include"
        and text_of(node.child_by_field_name("path"))[1:-1] not in headers
    ]
    for node in gone:
        for place in range(node.start_byte, node.end_byte):
            if data[place] not in b"\r\n":
                data[place] = ord(" ")
    return data.decode()


def _as_blanks(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def _items(node: Node) -> Iterator[_Item]:
    for each in node.children:
        if each.type in AROUND and not _is_of_one(each):
            yield from _items(each)
        elif each.type in _LEFT_OUT:
            yield _Item(each, frozenset(), frozenset())
        elif each.is_named and each.type not in _KEPT and each != node.child_by_field_name("name"):
            names = frozenset(_defined(each))
            if names:
                words = {text_of(n) for n in walk(each) if n.type in _NAMES}
                yield _Item(each, names, frozenset(words))


def _is_of_one(node: Node) -> bool:
    """Whether it is `extern "C"` before one function, and no block."""
    body = node.child_by_field_name("body")
    return node.type == "linkage_specification" and (
        body is None or body.type != "declaration_list"
    )


def _macros(root: Node) -> dict[str, frozenset[str]]:
    """Words in the texts of macros, by their names."""
    found = dict[str, frozenset[str]]()
    for node in walk(root):
        if node.type in ("preproc_def", "preproc_function_def"):
            name = text_of(node.child_by_field_name("name"))
            words = frozenset(_WORD.findall(text_of(node.child_by_field_name("value"))))
            found[name] = found.get(name, frozenset()) | words
    return found


def _defined(item: Node) -> Iterator[str]:
    """Names of functions, variables and types that an item brings."""
    if item.type == "template_declaration":
        for each in item.named_children:
            if each.type != "template_parameter_list":
                yield from _defined(each)
        return
    if item.type == "linkage_specification":
        body = item.child_by_field_name("body")
        if body is not None:
            yield from _defined(body)
        return
    if item.type == "alias_declaration":
        yield text_of(item.child_by_field_name("name"))
        return
    kind = item if item.type in _TYPES else item.child_by_field_name("type")
    if kind is not None and kind.type in _TYPES:
        yield from _of_type(kind)
    for each in item.children_by_field_name("declarator"):
        yield from _declared(each)


def _of_type(kind: Node) -> Iterator[str]:
    """A type's name where it is defined or declared, and those of its values."""
    name = kind.child_by_field_name("name")
    if name is not None:
        yield from (text_of(n) for n in walk(name, ("template_argument_list",)) if n.type in _NAMES)
    for each in walk(kind):
        if each.type == "enumerator":
            yield text_of(each.child_by_field_name("name"))


def _declared(declarator: Node) -> Iterator[str]:
    """The name that a declarator gives, and those of the scopes before it."""
    inner = declarator
    while (deeper := inner.child_by_field_name("declarator")) is not None:
        inner = deeper
    if inner.type == "reference_declarator" and inner.named_children:
        yield from _declared(inner.named_children[-1])
    elif inner.type in ("qualified_identifier", "template_function"):
        without = ("template_argument_list", "argument_list")
        yield from (text_of(n) for n in walk(inner, without) if n.type in _NAMES)
    else:
        yield text_of(inner)


def _is_device_operator(item: _Item) -> bool:
    named = any(name.startswith("operator") for name in item.names)
    return named and "__device__" in text_of(item.node)
