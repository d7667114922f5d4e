"""What a contract says of sizes: what divides them, and that a bound is not negative."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from math import gcd

from ....runners.specs.spec import KernelSpec
from ..affine import Form
from ..affine_cpp import form_of
from .per_element import PerElement
from .reading import CudaKernel


def divisor_of(text: int | float | str, spec: KernelSpec) -> int:
    """A number that divides the expression for all legal sizes; 0 for one that is always 0.

    Products, sums and differences of symbols and whole numbers; 1 for all else.
    """
    if isinstance(text, int | float):
        return abs(int(text)) if text == int(text) else 1
    try:
        return _divisor(ast.parse(text, mode="eval").body, spec)
    except SyntaxError:
        return 1


def _divisor(node: ast.expr, spec: KernelSpec) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return abs(value)
        case ast.Name(id=name):
            return _of_symbol(name, spec)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _divisor(left, spec) * _divisor(right, spec)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return gcd(_divisor(left, spec), _divisor(right, spec))
        case _:
            return 1


def _of_symbol(name: str, spec: KernelSpec) -> int:
    if name not in spec.symbols:
        return 1
    domain = spec.symbols[name]
    if domain is None:  # the listed workloads are all that is legal
        return gcd(*(w.symbols[name] for w in spec.workloads))
    return domain.min if domain.min == domain.max else domain.multiple_of


def divisor_of_form(form: Form, scalars: Mapping[str, int | float | str], spec: KernelSpec) -> int:
    """As `divisor_of`, for an index of a kernel over its parameters (`scalars`: their values)."""
    found = 0
    for monomial, factor in form.terms:
        product = abs(factor)
        for name in monomial:
            product *= divisor_of(scalars[name], spec) if name in scalars else 1
        found = gcd(found, product)
    return found


def is_multiple(form: Form | None, by: int, kernel: CudaKernel, spec: KernelSpec) -> bool:
    """Whether an index or size is a multiple of `by` for every legal size."""
    return form is not None and divisor_of_form(form, kernel.scalars, spec) % by == 0


def count_of(element: PerElement) -> Form | None:
    """The number of elements over the kernel's parameters, where it is surely not negative: sums
    of products of what the contract counts. None: it is something else."""
    bound = form_of(element.bound, lambda name: _size(name, element))
    if bound is None or any(factor < 0 for _, factor in bound.terms):
        return None
    values = (str(element.kernel.scalars[name]) for name in bound.names)
    return bound if all(re.fullmatch(r"[\w\s*+()]+", value) for value in values) else None


def _size(name: str, element: PerElement) -> Form | None:
    if name in element.known.values:
        return form_of(element.known.values[name], lambda n: _size(n, element))
    return Form.name(name) if name in element.kernel.scalars else None
