"""What a Python scope binds: its own names, and those that stand for something foreign."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

OUTSIDE = sys.stdlib_module_names | {"torch", "triton", "numpy", "cupy", "kernelwright"}
"""Packages that are nobody's candidate."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class Scope:
    """Names bound in one function, class or module: foreign origins, none for own things."""

    names: dict[str, set[str]]
    is_class: bool = False


def bound(nodes: Sequence[ast.AST]) -> dict[str, set[str]]:
    """Names bound by these nodes in their own scope, with the foreign things they stand for."""
    names = dict[str, set[str]]()
    declared = set[str]()
    for node in _own_nodes(nodes):
        match node:
            case ast.Import():
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    _bind(names, alias.asname or whole, whole)
            case ast.ImportFrom():
                for alias in node.names:
                    origin = f"{node.module}.{alias.name}" if node.level == 0 else ""
                    if alias.name == "*":
                        origin = origin.removesuffix(".*")
                    _bind(names, alias.asname or alias.name, origin)
            case ast.Name(ctx=ast.Store()):
                _bind(names, node.id, "")
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                _bind(names, node.name, "")
            case ast.Global() | ast.Nonlocal():
                declared.update(node.names)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                _bind(names, name, "")
            case _:
                pass
    return {name: origins for name, origins in names.items() if name not in declared}


def _bind(names: dict[str, set[str]], name: str, origin: str) -> None:
    known = names.setdefault(name, set())
    if origin.partition(".")[0] in OUTSIDE:
        known.add(origin)


def _own_nodes(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """These nodes and what is beneath them, without the insides of nested scopes."""
    waiting = list(nodes)
    first = set(map(id, waiting))
    while waiting:
        node = waiting.pop()
        yield node
        nested = isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda, *_COMPREHENSIONS))
        if not nested or (id(node) in first and isinstance(node, _COMPREHENSIONS)):
            waiting.extend(ast.iter_child_nodes(node))
