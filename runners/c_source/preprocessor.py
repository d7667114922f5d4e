"""Lines of the preprocessor: what they say, and what they may leave out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .nodes import parents, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

CONTINUED = re.compile(rb"\\\r?\n")
# a literal first: what looks like a comment inside it is none
PREPROC_PIECE = re.compile(
    rb"""(?P<literal>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<=\d)')"""
    rb"""|(?P<open>["'])|(?:\s|//.*|/\*.*?\*/)+""",
    re.DOTALL,
)


def preproc_text(text: bytes) -> bytes | None:
    """What a preprocessor line says: comments out, lines joined, blanks single.

    None when a string in it is never closed: the grammar ends such a line at a `/*` inside
    the string and takes the code after it for a comment.
    """
    pieces: list[bytes] = []
    joined, at = CONTINUED.sub(b"", text), 0
    for match in PREPROC_PIECE.finditer(joined):
        if match["open"] is not None:
            return None
        pieces += [joined[at : match.start()], match["literal"] or b" "]
        at = match.end()
    return b"".join([*pieces, joined[at:]]).strip()


def is_conditional(node: Node) -> bool:
    """Whether a node stands where a preprocessor condition may leave it out."""
    return any(
        above.type.startswith("preproc_if") or above.type in ("preproc_else", "preproc_elif")
        for above in parents(node)
    )


def pragma_above(node: Node) -> Node | None:
    """The `#pragma unroll` right before a loop."""
    above = node.prev_sibling
    if above is None or above.type != "preproc_call":
        return None
    return above if text_of(above).split()[:2] == ["#pragma", "unroll"] else None
