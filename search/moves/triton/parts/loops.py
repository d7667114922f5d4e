"""Options of a kernel's loops, as `tl.range` takes them."""

from __future__ import annotations

import ast

from ...shared.edits import Edit
from .kernels import Kernel
from .nodes import walk
from .source import is_call


def innermost(kernel: Kernel) -> list[ast.For]:
    """Loops over `range` or `tl.range` that hold no other loop and load something."""
    loops = [n for n in walk(kernel.function) if isinstance(n, ast.For) and _ranged(n)]
    return [
        loop
        for loop in loops
        if not any(isinstance(n, ast.For | ast.While) for s in loop.body for n in walk(s))
        and loads_in(loop)
    ]


def _ranged(loop: ast.For) -> bool:
    made = loop.iter
    plain = isinstance(made, ast.Call) and ast.unparse(made.func) == "range"
    return (plain or is_call(made, "range")) and not loop.orelse


def loads_in(loop: ast.For) -> list[ast.Call]:
    """`tl.load`, and loads from tensor descriptors."""
    return [
        n
        for n in walk(loop)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "load"
    ]


def options_of(loop: ast.For) -> dict[str, ast.expr]:
    """The keywords of its range."""
    assert isinstance(loop.iter, ast.Call)
    return {k.arg: k.value for k in loop.iter.keywords if k.arg is not None}


def with_option(kernel: Kernel, loop: ast.For, name: str, value: str) -> list[Edit]:
    """Edits that add an option, or give it another value."""
    made, source = loop.iter, kernel.source
    assert isinstance(made, ast.Call)
    now = options_of(loop).get(name)
    if now is not None:
        return [source.replace(now, value)]
    _, end = source.span([*made.args, *(k.value for k in made.keywords)][-1])
    edits = [Edit(end, end, f", {name}={value}")]
    if isinstance(made.func, ast.Name):
        edits.append(source.replace(made.func, "tl.range"))
    return edits
