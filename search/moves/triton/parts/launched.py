"""Which kernels of a source its entry launches: others, and functions that kernels call, are in the
file for somebody else."""

from __future__ import annotations

import ast
from collections.abc import Collection

from .nodes import walk

Defined = ast.FunctionDef | ast.ClassDef


def launched_by(tree: ast.Module, entry: str, kernels: Collection[str]) -> frozenset[str]:
    """The kernels that the entry names, itself or in functions and classes of the file that it
    names. An entry that is a kernel is launched alone."""
    return frozenset(kernels) & named_by(tree, entry, kernels)


def named_by(tree: ast.Module, entry: str, kernels: Collection[str]) -> frozenset[str]:
    """The same, with those functions and classes and the entry itself."""
    if entry in kernels:
        return frozenset((entry,))
    defined = {n.name: n for n in tree.body if isinstance(n, Defined) and n.name not in kernels}
    left, seen = [entry], {entry}
    while left:
        node = defined.get(left.pop())
        if node is None:
            continue
        for name in {n.id for n in walk(node) if isinstance(n, ast.Name)}:
            if name in seen:
                continue
            if name in kernels or name in defined:
                seen.add(name)
                left.append(name)
    return frozenset(seen)
