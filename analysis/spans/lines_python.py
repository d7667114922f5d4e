"""Lines of Python: what of a file are functions that Triton compiles."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import replace

from .source_line import OUTSIDE, PUNCTUATION, SourceLine

_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def python_lines(source: str) -> dict[int, SourceLine]:
    """Lines by number; those of nothing that is for the device may be left out.

    Raises SyntaxError or ValueError for what is no Python.
    """
    inside = dict[int, SourceLine]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list)):
            inside |= dict(_of_function(node))
    told = dict[int, SourceLine]()
    for number, text in _words(source):
        known, before = inside.get(number, OUTSIDE), told.get(number)
        if text.startswith("#"):
            told.setdefault(number, replace(known, kind="comment"))
        elif text not in PUNCTUATION or known.kind != "code":
            told[number] = known
        elif before is None or before.kind == "comment":
            told[number] = replace(known, kind="punctuation")
    return told


def _words(source: str) -> Iterator[tuple[int, str]]:
    """Tokens by line, comments among them; a text of several lines is on each of them."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT:
            for number in range(token.start[0], token.end[0] + 1):
                yield number, token.string


def _is_jit(decorator: ast.expr) -> bool:
    """`@triton.jit`, `@jit`, `@gluon.jit(...)`."""
    name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
    return name.rpartition(".")[2] == "jit"


def _of_function(function: ast.FunctionDef) -> Iterator[tuple[int, SourceLine]]:
    first = function.body[0]
    for number in _extent(function):
        kind = "declaration" if number < first.lineno else "code"
        yield number, SourceLine(kind, function.name)
    for node in ast.walk(function):
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and len(_extent(node)) > 1:
            for number in _extent(node):
                yield number, SourceLine("code", function.name, _extent(node))
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        for number in _extent(first):
            yield number, SourceLine("comment", function.name)


def _extent(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
