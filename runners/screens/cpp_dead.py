"""Functions of a C++ or CUDA source that a kernel does not come to, by their names.

A benchmark or a test beside a kernel may read a clock. What is named in such functions does not
block; that nothing leads there after all (a name that is pasted together) is for the machine code
to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..c_source.functions import function_of
from ..c_source.nodes import text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class DeadLines:
    """Lines (from 1) that hold nothing but functions to which nothing leads."""

    spans: tuple[tuple[int, int], ...] = ()

    def __contains__(self, line: int) -> bool:
        return any(first <= line <= last for first, last in self.spans)


def dead_lines(root: Node, source: str, entry: str, *, device: bool) -> DeadLines:
    """What neither the entry nor anything outside of functions names, nor what these name.

    `device`: every `__global__` function is an entry. None where the entry has no definition.
    """
    nodes = [node for node in walk(root) if node.type == "function_definition"]
    functions = [(f.name, node) for node in nodes if (f := function_of(node)) is not None]
    if entry not in {name for name, _ in functions}:
        return DeadLines()
    lines = source.encode().splitlines()
    apart = [
        (name, node)
        for name, node in functions
        if name != entry and not (device and _is_kernel(node)) and _stands_alone(node, lines)
    ]
    inside = {node.id for _, node in apart}
    live = set(_words(root, inside))
    waiting = list(apart)
    while named := [each for each in waiting if each[0] in live]:
        for name, node in named:
            waiting.remove((name, node))
            live |= set(_words(node, inside - {node.id}))
    return DeadLines(tuple((n.start_point.row + 1, n.end_point.row + 1) for _, n in waiting))


def _is_kernel(node: Node) -> bool:
    return any(child.type == "__global__" for child in node.children)


def _stands_alone(node: Node, lines: list[bytes]) -> bool:
    """Whether it has whole lines, and no attribute by which it could run without being named."""
    before = lines[node.start_point.row][: node.start_point.column]
    after = lines[node.end_point.row][node.end_point.column :]
    if before.strip() or after.strip():
        return False
    return not any(each.type.startswith("attribute") or each.type == "ERROR" for each in walk(node))


def _words(node: Node, without: set[int]) -> Iterator[str]:
    """Words of a part of a source, in strings and macros as well, but for comments and for some
    functions."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.id in without or each.type == "comment":
            continue
        if each.children and each.type != "string_literal":
            waiting += each.children
        else:
            yield from _WORD.findall(text_of(each))
