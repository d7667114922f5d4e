"""What of a CUDA file is code of the device: files hold launchers and whole programs beside their
kernels, which a compiler of device code alone refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .nodes import text_of
from .parsing import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.MULTILINE)
_DEVICE = frozenset({"__global__", "__device__"})
_AROUND = (
    "translation_unit", "namespace_definition", "declaration_list", "linkage_specification",
    "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif",
)  # fmt: skip
"""what items of a file stand in"""


def device_part(source: str, headers: frozenset[str]) -> str:
    """The source without functions of the host and without `#include` of any but these headers, in
    whose places the same lines stand empty.

    Functions that are `constexpr` stay, as kernels may call them, and so does everything that is no
    function; where that uses what only the host has, it still does not compile.
    """
    data = bytearray(source.encode())
    for node in _of_the_host(parse_cpp(bytes(data)).root_node, headers):
        for place in range(node.start_byte, node.end_byte):
            if data[place] not in b"\r\n":
                data[place] = ord(" ")
    return data.decode()


def included(source: str) -> frozenset[str]:
    """The headers that a source includes, as it names them."""
    return frozenset(_INCLUDED.findall(source))


def _of_the_host(node: Node, headers: frozenset[str]) -> Iterator[Node]:
    for each in node.children:
        if each.type in _AROUND:
            yield from _of_the_host(each, headers)
        elif each.type == "preproc_include":
            path = text_of(each.child_by_field_name("path"))[1:-1]
            if path not in headers:
                yield each
        elif _is_of_the_host(each):
            yield each


def _is_of_the_host(item: Node) -> bool:
    function = item
    while function.type == "template_declaration":
        function = function.named_children[-1]
    if function.type == "declaration":  # of a function, such as one that follows or of a library
        declared = function.child_by_field_name("declarator")
        if declared is None or declared.type != "function_declarator":
            return False
    elif function.type != "function_definition":
        return False
    body = function.child_by_field_name("body")
    head = [each for each in function.children if each != body]
    words = {word for each in head for word in text_of(each).split()}
    return not words & _DEVICE and "constexpr" not in words
