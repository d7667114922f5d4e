"""`and`, `or` and `not` of a kernel's values under the interpreter: element by element, as they
are compiled.

Interpreted they are Python's, which take a block for true and give the last one: a mask
`r < rows and c < cols` would be `c < cols` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce
from typing import Any

from ..capture.libraries import load

ALL, ANY, NEITHER = "_all_of_values", "_any_of_values", "_no_value"


def install() -> None:
    """Mend the interpreter of this process, for good."""
    interpreter: Any = load("triton.runtime.interpreter")
    for name, function in ((ALL, _all_of), (ANY, _any_of), (NEITHER, _not)):
        setattr(interpreter, name, function)
    base: Any = interpreter.ASTTransformer
    members = {"visit_BoolOp": _words, "visit_UnaryOp": _negation, "visit_Assign": _assigned(base)}
    interpreter.FunctionRewriter.ast_transformer = type("LogicalWords", (base,), members)()


def _assigned(base: Any) -> Callable[[Any, ast.Assign], Any]:
    def visit(transformer: Any, node: ast.Assign) -> Any:
        node.value = transformer.visit(node.value)
        return base.visit_Assign(transformer, node)

    return visit


def _words(transformer: Any, node: ast.BoolOp) -> ast.expr:
    """A call of a function for each operand, as later ones may not be asked for."""
    transformer.generic_visit(node)
    nothing = ast.arguments([], [], None, [], [], None, [])
    later: list[ast.expr] = [ast.Lambda(nothing, each) for each in node.values]
    name = ast.Name(ALL if isinstance(node.op, ast.And) else ANY, ast.Load())
    return ast.copy_location(ast.Call(name, later, []), node)


def _negation(transformer: Any, node: ast.UnaryOp) -> ast.expr:
    transformer.generic_visit(node)
    if not isinstance(node.op, ast.Not):
        return node
    return ast.copy_location(ast.Call(ast.Name(NEITHER, ast.Load()), [node.operand], []), node)


def _is_value(value: Any) -> bool:
    return isinstance(value, load("triton.language").tensor)


def _all_of(*parts: Callable[[], Any]) -> Any:
    return _joined(parts, decides=False, join=lambda one, other: one.logical_and(other))


def _any_of(*parts: Callable[[], Any]) -> Any:
    return _joined(parts, decides=True, join=lambda one, other: one.logical_or(other))


def _joined(
    parts: tuple[Callable[[], Any], ...], *, decides: bool, join: Callable[[Any, Any], Any]
) -> Any:
    """Plain values are asked in order, as Python asks them; what is left is joined."""
    values, last = list[Any](), None
    for part in parts:
        last = part()
        if _is_value(last):
            values.append(last)
        elif bool(last) is decides:
            return last
    return reduce(join, values) if values else last


def _not(value: Any) -> Any:
    return value == 0 if _is_value(value) else not value
