"""A Python source with its syntax tree, and edits at positions of the tree; all else stays."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...shared.edits import Edit, spliced
from .nodes import walk
from .one_a_line import INDENT, line_starts, one_a_line


@dataclass(frozen=True)
class Source:
    """The text as UTF-8, as the tree's columns count, and where each line starts."""

    raw: bytes
    tree: ast.Module
    starts: tuple[int, ...]

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> tuple[int, int]:
        """First byte of a node, and the one behind it."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> str:
        """The node as it is written."""
        start, end = self.span(node)
        return self.raw[start:end].decode()

    def replace(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword, text: str) -> Edit:
        """The node gives way to a text."""
        return Edit(*self.span(node), text)

    def indent(self, statement: ast.stmt) -> str:
        """The blanks before a statement."""
        return " " * statement.col_offset

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        """New lines above a statement (above its decorators), as far to the right as it."""
        first = min(n.lineno for n in (statement, *decorators(statement)))
        start = self.starts[first - 1]
        return Edit(start, start, self._lines(statement, lines))

    def after(self, statement: ast.stmt, *lines: str) -> Edit:
        """New lines below a statement, as far to the right as it."""
        start = self._below(statement)
        text = self._lines(statement, lines)
        whole = start == 0 or self.raw[start - 1 : start] == b"\n"
        return Edit(start, start, text if whole else f"\n{text}")

    def delete(self, *statements: ast.stmt) -> list[Edit]:
        """The lines of statements go, and what is written behind them."""
        return [Edit(self.starts[s.lineno - 1], self._below(s), "") for s in statements]

    def delete_lines(self, first: ast.stmt, last: ast.stmt) -> list[Edit]:
        """All lines from one statement to another go."""
        return [Edit(self.starts[first.lineno - 1], self._below(last), "")]

    def comments_above(self, statement: ast.stmt) -> list[str]:
        """The lines right above a statement that are comments, in order, without their blanks."""
        found = list[str]()
        for number in range(statement.lineno - 2, -1, -1):
            line = self.raw[self.starts[number] : self.starts[number + 1]].decode().strip()
            if line and not line.startswith("#"):
                break
            found += [line] if line else []
        return found[::-1]

    def comment_behind(self, statement: ast.stmt) -> str:
        """What stands behind a statement on its last line: a comment, or nothing."""
        _, end = self.span(statement)
        return self.raw[end : self._below(statement)].decode().rstrip()

    def nested(self, first: ast.stmt, last: ast.stmt) -> list[Edit]:
        """The lines from one statement to another move one level to the right."""
        assert last.end_lineno is not None
        inside = self._inside_strings()
        lines = range(first.lineno, last.end_lineno + 1)
        return [
            Edit(self.starts[n - 1], self.starts[n - 1], INDENT)
            for n in lines
            if n not in inside and self.raw[self.starts[n - 1] : self.starts[n]].strip()
        ]

    def moved_left(self, statements: Sequence[ast.stmt], by: int) -> list[Edit]:
        """The lines of statements, and comments between them, move `by` columns to the left."""
        last = statements[-1].end_lineno
        assert last is not None
        inside = self._inside_strings()
        found: list[Edit] = []
        for number in range(statements[0].lineno, last + 1):
            start = self.starts[number - 1]
            line = self.raw[start : self.starts[number]]
            blanks = len(line) - len(line.lstrip(b" "))
            if number not in inside and line.strip():
                found.append(Edit(start, start + min(by, blanks), ""))
        return found

    def _inside_strings(self) -> frozenset[int]:
        """Lines that begin within a string: blanks before them belong to it."""
        return frozenset(
            line
            for node in walk(self.tree)
            if isinstance(node, ast.Constant | ast.JoinedStr)
            for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
        )

    def _below(self, statement: ast.stmt) -> int:
        assert statement.end_lineno is not None
        return self.starts[statement.end_lineno]

    def _lines(self, statement: ast.stmt, lines: Iterable[str]) -> str:
        return textwrap.indent("".join(f"{line}\n" for line in lines), self.indent(statement))

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text with the edits made; raises ValueError for edits that overlap.

        Blanks that lines within a replaced expression would get or lose are left as they are.
        """
        listed = list(edits)
        gone = [e for e in listed if not self._is_blank(e)]
        kept = (
            e
            for e in listed
            if not (self._is_blank(e) and any(g.start <= e.start < g.end for g in gone))
        )
        return spliced(self.raw, kept)

    def _is_blank(self, edit: Edit) -> bool:
        """Whether only blanks come or go."""
        return not (edit.text.strip() or self.raw[edit.start : edit.end].strip())


def read(text: str) -> Source | None:
    """A source, each statement on lines of its own; None where it does not parse."""
    try:
        raw = text.encode()
        tree = ast.parse(raw)
        apart = one_a_line(raw, tree)
        tree = tree if apart == raw else ast.parse(apart)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return Source(apart, tree, line_starts(apart))


def decorators(statement: ast.stmt) -> list[ast.expr]:
    """Of a function; none of any other statement."""
    return statement.decorator_list if isinstance(statement, ast.FunctionDef) else []


def same(*expressions: ast.expr) -> bool:
    """Whether expressions are the same but for their layout."""
    return len({ast.dump(e) for e in expressions}) == 1


def is_call(node: ast.AST | None, *names: str) -> bool:
    """Whether a node calls one of these functions of `triton.language`, known as `tl`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "tl"
        and node.func.attr in names
    )


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """What a call gives for a parameter, by position or by name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    plain = call.args[: position + 1]
    if any(isinstance(a, ast.Starred) for a in plain) or len(plain) <= position:
        return None
    return plain[position]


def names_in(node: ast.AST) -> frozenset[str]:
    """Every name that is read or written below a node."""
    return frozenset(n.id for n in walk(node) if isinstance(n, ast.Name))


def written(node: ast.AST) -> frozenset[str]:
    """Every name that is written below a node."""
    found = (n for n in walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in found if isinstance(n.ctx, ast.Store))
