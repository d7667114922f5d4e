"""Sizes of a contract, which are expressions over its symbols, as forms."""

from __future__ import annotations

import ast

from ..affine import Form


def size_form(size: str | int | float) -> Form | None:
    """The form of a size in a contract: an expression over symbols."""
    if isinstance(size, int):
        return Form.number(size)
    if isinstance(size, float):
        return None
    try:
        return _python_form(ast.parse(size, mode="eval").body)
    except SyntaxError:
        return None


def _python_form(node: ast.expr) -> Form | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Form.number(node.value)
    if isinstance(node, ast.Name):
        return Form.name(node.id)
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _python_form(node.left), _python_form(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    return left * right if isinstance(node.op, ast.Mult) else None
