"""The same source in other layouts: on one line, and with a comment at every joint."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernelwright.runners.c_source.nodes import walk
from kernelwright.runners.c_source.parsing import parse_cpp

if TYPE_CHECKING:
    from tree_sitter import Node

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
SIMPLE = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Pass, ast.Assert,
    ast.Import, ast.ImportFrom,
)  # fmt: skip


def c_on_one_line(source: str) -> str:
    """C++ or CUDA without comments, all between two lines of the preprocessor on one line."""
    raw = source.encode()
    for node in reversed([n for n in walk(parse_cpp(raw).root_node) if n.type == "comment"]):
        raw = raw[: node.start_byte] + b" " + raw[node.end_byte :]
    bare, squeezed, at = raw.decode(), list[str](), 0
    for directive in DIRECTIVE.finditer(bare):
        squeezed += [" ".join(bare[at : directive.start()].split()), directive[0].strip()]
        at = directive.end()
    return "\n".join(part for part in [*squeezed, " ".join(bare[at:].split()), ""] if part)


def c_with_comments(source: str) -> str:
    """C++ or CUDA with a comment at every joint: braces, semicolons, commas, parentheses."""
    raw, found, at = source.encode(), list[bytes](), 0
    for token in _joints(parse_cpp(raw).root_node):
        found += [raw[at : token.start_byte], _commented(token.text or b"")]
        at = token.end_byte
    return b"".join([*found, raw[at:]]).decode()


def _joints(root: Node) -> Iterator[Node]:
    """The signs that end or begin something, what the preprocessor reads left out."""
    for node in walk(root, without=("preproc_def", "preproc_function_def", "preproc_call")):
        if node.type in ("{", "}", ";", ",", "(", ")") and node.end_byte > node.start_byte:
            above = node.parent
            if above is None or not above.type.startswith("preproc"):
                yield node


def _commented(sign: bytes) -> bytes:
    if sign == b"(":
        return b"(/* joint */ "
    return b" /* joint */)" if sign == b")" else b" /* joint */ " + sign + b" // joint\n"


def python_on_few_lines(source: str) -> str:
    """Python whose simple statements stand behind one another, and behind their `for` or `def`."""
    return "\n".join(_lines(ast.parse(source).body, "")) + "\n"


def _lines(body: list[ast.stmt], blanks: str) -> Iterator[str]:
    run = list[str]()
    for statement in body:
        if isinstance(statement, SIMPLE) and "\n" not in ast.unparse(statement):
            run.append(ast.unparse(statement))
            continue
        if run:
            yield blanks + "; ".join(run)
            run.clear()
        yield from _compound(statement, blanks)
    if run:
        yield blanks + "; ".join(run)


def _compound(statement: ast.stmt, blanks: str) -> Iterator[str]:
    parts = [f for f in ("body", "orelse") if getattr(statement, f, None)]
    if not parts or isinstance(statement, ast.Try | ast.With):
        yield from (blanks + line for line in ast.unparse(statement).split("\n"))
        return
    bodies: dict[str, list[ast.stmt]] = {f: getattr(statement, f) for f in parts}
    for part in parts:
        setattr(statement, part, [])
    heads = ast.unparse(statement).split("\n")
    for part, stated in bodies.items():
        setattr(statement, part, stated)
        inner = list(_lines(stated, blanks + "    "))
        alone = len(inner) == 1 and all(isinstance(s, SIMPLE) for s in stated)
        *above, head = heads if part == "body" else ["else:"]
        yield from (blanks + line for line in above)
        yield f"{blanks}{head} {inner[0].strip()}" if alone else blanks + head
        if not alone:
            yield from inner


def python_with_comments(source: str) -> str:
    """Python with a comment behind every line, and in brackets behind every comma."""
    lines, depth = source.split("\n"), 0
    places = list[tuple[int, int]]()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth and token.string in "([{,":
                places.append(token.end)
        elif token.type == tokenize.NEWLINE:
            places.append(token.start)
    for row, column in reversed(places):
        line = lines[row - 1]
        rest = line[column:]
        lines[row - 1] = f"{line[:column]}  # joint" + (f"\n{rest}" if rest.strip() else rest)
    return "\n".join(lines)
