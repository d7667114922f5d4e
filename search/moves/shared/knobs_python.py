"""Tuning knobs in Triton's Python.

- `NAME = 32` (also annotated, also `tl.constexpr(32)`) of the module or a function, bound once;
- a default of a `tl.constexpr` parameter;
- a keyword of a launch: `kernel[grid](x, y, BLOCK_SIZE=1024, num_warps=4)`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from .knobs import Constant, reads_like_knob

OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})
"""Of a launch: parameters of every Triton kernel, so no constants to be rewritten."""


def python_knobs(source: bytes) -> tuple[Constant, ...]:
    """The tuning knobs of a Python source, in order; none where it does not parse."""
    return tuple(
        c
        for c in named_integers(source)
        if c.value >= 1 and c.name not in OPTIONS and reads_like_knob(c.name)
    )


def named_integers(source: bytes) -> tuple[Constant, ...]:
    """Every integer literal that a name is given in one of the ways above, in order."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    names = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    bound = Counter(n.id for n in names if isinstance(n.ctx, ast.Store))
    found = list[Constant]()
    for name, value in _named_values(tree):
        literal = _literal(value)
        if literal is None or bound[name] > 1:
            continue
        start = starts[literal.lineno - 1] + literal.col_offset
        end = starts[(literal.end_lineno or literal.lineno) - 1] + (literal.end_col_offset or 0)
        found.append(Constant(name, int(str(literal.value)), "", start, end))
    return tuple(sorted(found, key=lambda c: c.start))


def _named_values(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            if isinstance(node.targets[0], ast.Name):
                yield node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                yield node.target.id, node.value
        elif isinstance(node, ast.FunctionDef):
            yield from _constexpr_defaults(node.args)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            yield from ((k.arg, k.value) for k in node.keywords if k.arg is not None)


def _constexpr_defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(plain), reversed(arguments.defaults), strict=False)]
    pairs += [
        (a, d)
        for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if d is not None
    ]
    for argument, default in pairs:
        annotation = argument.annotation
        if annotation is not None and ast.unparse(annotation).endswith("constexpr"):
            yield argument.arg, default


def _literal(value: ast.expr) -> ast.Constant | None:
    """The integer literal that a value is; `tl.constexpr(32)` is one as well."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        if not ast.unparse(value.func).endswith("constexpr"):
            return None
        value = value.args[0]
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return value
    return None
