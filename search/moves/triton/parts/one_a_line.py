"""Python with a line for each statement, so that lines can come before and behind every one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...shared.edits import Edit, spliced

INDENT = "    "


def one_a_line(raw: bytes, tree: ast.Module) -> bytes:
    """The source with `a; b` and `for x in y: a` on lines of their own; comments stay."""
    starts = line_starts(raw)
    edits = tuple(_breaks(tree.body, raw, starts, ""))
    return spliced(raw, edits).encode() if edits else raw


def line_starts(raw: bytes) -> tuple[int, ...]:
    """Where each line begins, and where the source ends."""
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return tuple(starts)


def _breaks(
    body: list[ast.stmt], raw: bytes, starts: tuple[int, ...], blanks: str
) -> Iterator[Edit]:
    """Line breaks before the statements that stand behind something; `blanks`: where they go."""
    for statement in body:
        first = min(n.lineno for n in (statement, *getattr(statement, "decorator_list", ())))
        line = starts[first - 1]
        at = starts[statement.lineno - 1] + statement.col_offset
        if first == statement.lineno and raw[line:at].strip():
            end = len(raw[:at].rstrip(b" \t;"))
            yield Edit(end, at, f"\n{blanks}")
            inner = blanks
        else:
            inner = raw[line:at].decode() if first == statement.lineno else blanks
        for held in _bodies(statement):
            yield from _breaks(held, raw, starts, inner + INDENT)
        yield from _left_over(statement, raw, starts)


def _left_over(statement: ast.stmt, raw: bytes, starts: tuple[int, ...]) -> Iterator[Edit]:
    """The semicolon behind the last statement of a line: `a;`."""
    assert statement.end_lineno is not None and statement.end_col_offset is not None
    end = starts[statement.end_lineno - 1] + statement.end_col_offset
    rest = raw[end : starts[statement.end_lineno]]
    behind = rest.lstrip(b" \t;")
    if not _bodies(statement) and b";" in rest[: len(rest) - len(behind)]:
        if not behind.strip() or behind.startswith(b"#"):
            yield Edit(end, end + len(rest) - len(behind), "  " if behind.strip() else "")


def _bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement."""
    found = [getattr(statement, f, []) for f in ("body", "orelse", "finalbody")]
    held = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    return [b for b in (*found, *(h.body for h in held)) if b]
