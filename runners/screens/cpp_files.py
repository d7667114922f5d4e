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
_GAP = r"(?:\s|/\*.*?\*/|//[^\n]*\n)*+"
_ASKED = re.compile(r"\b__has_(?:include(?:_next)?|embed)\b")
_HELD = re.compile(rf"{_GAP}\({_GAP}<(?!kernelwright|/|[^>]*\.\.)", re.DOTALL)
_WHETHER = re.compile(r"(?:\b(?:el)?ifn?def|\bdefined\s*\(?)\s*$")
"""Whether a file lies beside it that is ours, or anywhere by its place: compilers answer that of
files that no kernel may read. What the system has by name it may ask for, and whether it may."""
_WORDS = (
    *("__has_include", "__has_embed", "__INCLUDE_LEVEL__", "__BASE_FILE__"),
    *("__DATE__", "__TIME__", "__TIMESTAMP__"),
)
_PIECE = re.compile(
    rf"\b(?:{'|'.join(sorted({word[:n] for word in _WORDS for n in range(4, len(word))}))}"
    rf"|_?(?:{'|'.join(sorted(word[2:] for word in _WORDS))}))\b"
)
"""the first or the last of two that make one of these words, of three letters at least"""
_DEPENDENCY = re.compile(r"\bGCC\s+dependency\b")
"""a pragma that compares when files were written"""
_GOES_ON = re.compile(r"(?:\\|\?\?/)[ \t\r]*\n")
ASKS = "asks which files there are, and so by whom it is built and where"
PASTED = "is a piece of a word that asks when it is built, where or by whom"


def foreign_files(root: Node) -> Iterator[Finding]:
    """What is included, embedded or assembled from an absolute path, or from above a folder."""
    for node in walk(root):
        for path in _paths(node):
            if _ELSEWHERE.search(path):
                yield Finding("block", node.start_point.row + 1, path, REASON)


def files_asked_for(source: str) -> Iterator[Finding]:
    """Questions for a file by its name alone: a build of the evaluator's has some of its own. Words
    for them that are pasted from pieces, too."""
    text = _GOES_ON.sub("", source)
    for found in _ASKED.finditer(text):
        before, after = text[: found.start()].rpartition("\n")[2], text[found.end() :]
        if not (_WHETHER.search(before) or _HELD.match(after)):
            yield _finding(source, found, "__has_include", ASKS)
    for found in _DEPENDENCY.finditer(text):
        yield _finding(source, found, found[0], ASKS)
    for found in _PIECE.finditer(text):
        yield _finding(source, found, found[0], PASTED)


def _finding(source: str, found: re.Match[str], name: str, reason: str) -> Finding:
    """In the source's own line: `found` is in its text without the ends of lines that go on."""
    at = found.start()
    for gone in _GOES_ON.finditer(source):
        if gone.start() > at:
            break
        at += len(gone[0])
    return Finding("block", source.count("\n", 0, at) + 1, name, reason)


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
