"""Comments of a source: where they are, and the source without them at the same positions."""

from __future__ import annotations

from functools import lru_cache

from .nodes import walk
from .parsing import parse_cpp

Range = tuple[int, int]
"""bytes [start, end) of a source"""


@lru_cache(maxsize=8)
def comments_of(source: bytes) -> tuple[Range, ...]:
    """Where comments are, in order. One over several lines that begins within a line of the
    preprocessor is none: without it, the line would end where it does not."""
    nodes = walk(parse_cpp(source).root_node)
    found = [(n.start_byte, n.end_byte) for n in nodes if n.type == "comment"]
    return tuple(c for c in found if not _joins_lines_of_the_preprocessor(source, c))


def _joins_lines_of_the_preprocessor(source: bytes, comment: Range) -> bool:
    start, end = comment
    line = source[source.rfind(b"\n", 0, start) + 1 : start]
    return b"\n" in source[start:end] and line.lstrip().startswith(b"#")


@lru_cache(maxsize=8)
def without_comments(source: bytes) -> bytes:
    """The source with blanks where comments are: every position means the same in both, and its
    tree has no node that may stand anywhere. Source and tree are read by it, texts taken from the
    source as it is."""
    found, at = list[bytes](), 0
    for start, end in comments_of(source):
        blank = b"\n".join(b" " * len(line) for line in source[start:end].split(b"\n"))
        found += [source[at:start], blank]
        at = end
    return b"".join([*found, source[at:]])
