"""Lines of CUDA C++: what of a file are functions that run on the device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ...runners.c_source.declarators import declared_name, function_declarator
from ...runners.c_source.parsing import parse_cpp
from .source_line import OUTSIDE, PUNCTUATION, LineKind, SourceLine

if TYPE_CHECKING:
    from tree_sitter import Node

RISING: tuple[LineKind, ...] = (
    "outside",
    "comment",
    "punctuation",
    "declaration",
    "code",
    "directive",
)
"""what a line is if several of these stand on it: the last of them"""
_FUNCTION, _SIGNATURES = "function_definition", ("__global__", "__device__")
_DIRECTIVES = ("preproc_def", "preproc_function_def", "preproc_include", "preproc_call")
_DECLARES = ("declaration", "using_declaration", "alias_declaration", "type_definition")
_SETS = ("init_declarator", "condition_clause", "argument_list")
_STATEMENTS = (*_DECLARES, "expression_statement", "return_statement")


def cpp_lines(source: str) -> dict[int, SourceLine]:
    """Lines by number; those without a token are left out."""
    told = dict[int, SourceLine]()
    for number, line in _leaves(parse_cpp(source.encode("utf-8", "replace")).root_node):
        before = told.get(number)
        if before is None or RISING.index(before.kind) < RISING.index(line.kind):
            told[number] = line
    return told


def _leaves(root: Node) -> Iterator[tuple[int, SourceLine]]:
    """What each leaf makes of its lines. No recursion: a candidate may nest deeply."""
    waiting: list[tuple[Node, SourceLine]] = [(root, OUTSIDE)]
    while waiting:
        node, around = waiting.pop()
        line = _within(node, around)
        if line.kind in ("comment", "directive") or not node.children:
            if line.kind == "code" and node.type in PUNCTUATION:
                line = replace(line, kind="punctuation")
            yield from ((row + 1, line) for row in _rows(node))
            continue
        body = node.child_by_field_name("body") if node.type == _FUNCTION else None
        for child in node.children:
            enters = line.kind == "declaration" and body is not None and child == body
            waiting.append((child, replace(line, kind="code") if enters else line))


def _within(node: Node, around: SourceLine) -> SourceLine:
    """What a node is, within something else."""
    if node.type == "comment":
        return replace(around, kind="comment")
    if node.type in _DIRECTIVES or node.type.startswith("#"):
        return replace(around, kind="directive")
    if node.type == _FUNCTION and around.kind == "outside":
        device = any(child.type in _SIGNATURES for child in node.children)
        return (
            SourceLine("declaration", declared_name(function_declarator(node)))
            if device
            else around
        )
    if around.kind == "code" and node.type in _STATEMENTS:
        rows = _rows(node)
        whole = range(rows.start + 1, rows.stop + 1) if len(rows) > 1 else range(0)
        computes = node.type not in _DECLARES or any(c.type in _SETS for c in node.children)
        return replace(around, kind="code" if computes else "declaration", statement=whole)
    return around


def _rows(node: Node) -> range:
    """The lines of a node, from 0; a directive ends with its line break, before the next line."""
    stop = node.end_point.row + (1 if node.end_point.column else 0)
    return range(node.start_point.row, max(stop, node.start_point.row + 1))
