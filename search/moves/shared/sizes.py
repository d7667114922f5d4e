"""Sizes of a contract, which are expressions over its symbols: as forms, and what divides them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from math import gcd, prod

from ....runners.specs.part import Expression
from ....runners.specs.spec import KernelSpec
from .affine import Form


def size_form(size: Expression | float | None) -> Form | None:
    """An expression of a spec over symbols, where it is a polynomial of whole numbers."""
    if size is None:
        return None
    if isinstance(size, int | float):
        return Form.number(int(size)) if size == int(size) else None
    try:
        return _form(ast.parse(size, mode="eval").body)
    except SyntaxError:
        return None


def _form(node: ast.expr) -> Form | None:
    match node:
        case ast.Constant(value=int() as value):
            return Form.number(value)
        case ast.Name(id=name):
            return Form.name(name)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _form(left), _form(right)
            return None if a is None or b is None else _combined(op, a, b)
        case _:
            return None


def _combined(operator: ast.operator, a: Form, b: Form) -> Form | None:
    match operator:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return a * b
        case _:
            return None


def divisor_of(size: Expression | float, spec: KernelSpec) -> int:
    """A number that divides the expression for all legal sizes; 0 for one that is always 0.

    Products, sums and differences of symbols and whole numbers; 1 for all else, so that something
    is known of `4 * cdiv(n, 2)` as well, which has no form.
    """
    if isinstance(size, int | float):
        return abs(int(size)) if size == int(size) else 1
    try:
        return _divisor(ast.parse(size, mode="eval").body, spec)
    except SyntaxError:
        return 1


def _divisor(node: ast.expr, spec: KernelSpec) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return abs(value)
        case ast.Name(id=name):
            return divisor_of_symbol(name, spec)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _divisor(left, spec) * _divisor(right, spec)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return gcd(_divisor(left, spec), _divisor(right, spec))
        case _:
            return 1


def divisor_of_symbol(name: str, spec: KernelSpec) -> int:
    """What divides all values that a symbol may have; 1 for a name that is no symbol."""
    if name not in spec.symbols:
        return 1
    domain = spec.symbols[name]
    if domain is None:  # the listed workloads are all that is legal
        return gcd(*(w.symbols[name] for w in spec.workloads))
    return domain.min if domain.min == domain.max else domain.multiple_of


def divisor_of_form(form: Form, divisor: Callable[[str], int]) -> int:
    """A number that divides a form whose names are multiples of what `divisor` tells; 0 for 0."""
    return gcd(*(factor * prod(map(divisor, names)) for names, factor in form.terms))
