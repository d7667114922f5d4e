"""Textual changes of a source at positions that the syntax tree tells; all else stays as it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes [start, end) of a source become `text`; start equal to end inserts."""

    start: int
    end: int
    text: str


def replace_node(node: Node, text: str) -> Edit:
    """The node's text becomes `text`."""
    return Edit(node.start_byte, node.end_byte, text)


def insert_before(node: Node, text: str) -> Edit:
    """`text` goes right before the node."""
    return Edit(node.start_byte, node.start_byte, text)


def insert_after(node: Node, text: str) -> Edit:
    """`text` goes right behind the node."""
    return Edit(node.end_byte, node.end_byte, text)


def edited(source: bytes, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """Bytes [start, end) of the source with the edits made; positions are those of the source.

    Insertions at one place stay in their order. Raises ValueError for edits that overlap or lie
    outside.
    """
    stop, at = len(source) if end is None else end, start
    parts: list[bytes] = []
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at or edit.end > stop:
            raise ValueError(f"an edit of bytes {edit.start} to {edit.end} does not fit")
        parts += [source[at : edit.start], edit.text.encode()]
        at = edit.end
    return b"".join([*parts, source[at:stop]]).decode()


def indent_of(source: bytes, position: int) -> str:
    """The blanks at the beginning of the line that holds a position."""
    begin = source.rfind(b"\n", 0, position) + 1
    line = source[begin:position]
    return line[: len(line) - len(line.lstrip())].decode()


def reindented(text: str, old: str, new: str) -> str:
    """Lines that began with `old` begin with `new`; the first one began behind its blanks.

    Preprocessor lines stay at the left.
    """
    first, *others = text.split("\n")
    return "\n".join([new + first, *(_moved(line, old, new) for line in others)])


def _moved(line: str, old: str, new: str) -> str:
    if not line.strip() or line.startswith("#"):
        return line.rstrip()
    return new + (line[len(old) :] if line.startswith(old) else line.lstrip())


def whole_lines(source: bytes, start: int, end: int) -> tuple[int, int]:
    """The lines that hold bytes [start, end), if nothing else stands on them but a comment."""
    begin, stop = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
    stop = len(source) if stop < 0 else stop
    before, after = source[begin:start], source[end:stop].strip()
    if before.strip() or (after and not after.startswith(b"//")):
        return start, end
    return begin, min(stop + 1, len(source))


def with_comments(source: bytes, nodes: Sequence[Node]) -> list[tuple[int, int]]:
    """The byte ranges of statements: neighbours in one, with the comments around and between."""
    ranges: list[tuple[int, int]] = []
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        above, below = node.prev_sibling, node.next_sibling
        while above is not None and above.type == "comment" and _owns_line(source, above):
            start, above = above.start_byte, above.prev_sibling
        if below is not None and below.type == "comment" and not _owns_line(source, below):
            end = below.end_byte
        if ranges and not source[ranges[-1][1] : start].strip():
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _owns_line(source: bytes, node: Node) -> bool:
    return not source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].strip()
