"""Textual changes of a source at positions that the syntax tree tells; all else stays as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.comments import comments_of

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


def spliced(source: bytes, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """Bytes [start, end) of the source with the edits made; positions are those of the source.

    Insertions at one place stay in their order. Raises ValueError for edits that overlap or lie
    outside.
    """
    return "".join(text for text, _ in _pieces(source, edits, start, end))


def edited(source: bytes, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """As `spliced`, for C++ and CUDA, whatever else stands on the lines that change: a text that
    begins with a line of the preprocessor begins a line, and what follows one, or a comment that
    runs to the end of its line, begins the next."""
    joined, full = "", False
    for text, new in _pieces(source, edits, start, end):
        line = joined[joined.rfind("\n") + 1 :].strip()
        if line and new and text.lstrip(" \t").startswith("#"):
            joined += "\n"
        elif full and text.partition("\n")[0].strip():
            joined += "\n"
        joined += text
        full = (new and _fills_its_line(text)) if text else full
    return joined


def _fills_its_line(text: str) -> bool:
    """Whether nothing may stand behind it: its last line is the preprocessor's, or a comment."""
    last = text.rpartition("\n")[2]
    return last.lstrip(" \t").startswith("#") or "//" in last


def _pieces(
    source: bytes, edits: Iterable[Edit], start: int, end: int | None
) -> Iterator[tuple[str, bool]]:
    """What stays and what is new (True), in turn."""
    stop, at = len(source) if end is None else end, start
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at or edit.end > stop:
            raise ValueError(f"an edit of bytes {edit.start} to {edit.end} does not fit")
        yield source[at : edit.start].decode(), False
        yield edit.text, True
        at = edit.end
    yield source[at:stop].decode(), False


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
    comments, ranges = comments_of(source), list[tuple[int, int]]()
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        for above in reversed([c for c in comments if c[1] <= start]):
            if source[above[1] : start].strip() or not _owns_line(source, above[0]):
                break
            start = above[0]
        below = next((c for c in comments if c[0] >= end), None)
        if below and not source[end : below[0]].strip() and not _owns_line(source, below[0]):
            end = below[1]
        if ranges and not source[ranges[-1][1] : start].strip():
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _owns_line(source: bytes, start: int) -> bool:
    return not source[source.rfind(b"\n", 0, start) + 1 : start].strip()
