"""Files that a C++ source names by a place: no build has them.

A build has the kernel's own files, folders that the spec names, and headers of the system, all of
which are found by their names. The builder reads no other, and tells nothing that is said of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..c_source.nodes import text_of, walk
from .findings import Finding

if TYPE_CHECKING:
    from tree_sitter import Node

_INCLUDED = re.compile(r"""^\s*["<](?P<path>[^">]+)""")
_ASSEMBLED = re.compile(r"""\.inc(?:bin|lude)\s+\\?"(?P<path>[^"\\]+)""")
_ELSEWHERE = re.compile(r"(?:^|/)\.\.(?:/|$)|^/")
REASON = "is a file outside of the kernel's folders"
_HELD = r"""(?!<(?!kernelwright|/|[^>]*\.\.))"""
_ASKED = re.compile(
    rf"""\b__has_include(?:_next)?+\s*+\(\s*+{_HELD}"""
    rf"""|#\s*define\b.*\b__has_include(?:_next)?+\s*+(?!\(\s*+(?!{_HELD}))"""
)
"""whether a file lies beside it that is ours, or anywhere by its place: nvcc answers that of files
that no kernel may read. What the system has by name, or whether it may ask, it may ask for"""
ASKS = "asks which files there are, and so by whom it is built and where"


def foreign_files(root: Node) -> Iterator[Finding]:
    """What is included, embedded or assembled from an absolute path, or from above a folder."""
    for node in walk(root):
        for path in _paths(node):
            if _ELSEWHERE.search(path):
                yield Finding("block", node.start_point.row + 1, path, REASON)


def files_asked_for(source: str) -> Iterator[Finding]:
    """Questions for a file by its name alone: a build of the evaluator's has some of its own."""
    for number, line in enumerate(source.splitlines(), 1):
        if _ASKED.search(line):
            yield Finding("block", number, "__has_include", ASKS)


def _paths(node: Node) -> Iterator[str]:
    match node.type:
        case "preproc_include":
            named = text_of(node.child_by_field_name("path"))
        case "preproc_call" if text_of(node.child(0)).lstrip("# \t") == "embed":
            named = text_of(node.child_by_field_name("argument"))
        case "gnu_asm_expression":
            yield from (found["path"] for found in _ASSEMBLED.finditer(text_of(node)))
            return
        case _:
            return
    if found := _INCLUDED.match(named):
        yield found["path"]
