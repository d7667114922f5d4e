"""Looking through a syntax tree, which every move of Triton does many times over."""

from __future__ import annotations

import ast
from functools import cache


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, as `ast.walk` has them, but for whether names are read or written
    (`ctx`, which their node tells), in half of its time."""
    found = [node]
    for each in found:  # which grows meanwhile
        for name in _fields(type(each)):
            value = getattr(each, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [n for n in value if isinstance(n, ast.AST)]  # pyright: ignore
    return found


@cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Fields that may hold nodes."""
    return () if kind is ast.Constant else tuple(n for n in kind._fields if n not in _LEAVES)


_LEAVES = frozenset({"ctx", "id", "attr", "type_comment", "lineno", "level", "module"})
