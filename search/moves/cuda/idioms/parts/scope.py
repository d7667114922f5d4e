"""What names mean at a place of a kernel: integers as polynomials, pointers, values.

A name that is assigned after its declaration means nothing here but itself. Names of the kernel
that stand for no polynomial (loop variables) are `%name` in one: no symbol is called like that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ......runners.c_source.literals import integer_value
from ......runners.c_source.names import lent_by, written_by
from ......runners.c_source.nodes import text_of, walk
from ......runners.c_source.types import is_wide_integer
from ....shared.affine import Form, quotient, remainder
from ....shared.edits import Edit, edited
from .facts import Facts, Unfit
from .syntax import (
    Binary,
    Converted,
    Declare,
    Expr,
    Item,
    Loop,
    Name,
    Number,
    Opaque,
    Statement,
    Stepped,
    Unary,
    names_in,
    unconverted,
    within,
)

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode

BUILT_IN = re.compile(r"(threadIdx|blockIdx|blockDim|gridDim)\.[xyz]")


@dataclass(frozen=True)
class Place:
    """An element of an array: `index` elements from its start."""

    array: str
    index: Form


@dataclass(frozen=True)
class Scope:
    """Meanings so far; `declare` gives the one after a declaration."""

    facts: Facts
    assigned: frozenset[str]
    """variables that change after their declaration"""
    integers: Mapping[str, Form] = field(default_factory=dict[str, Form])
    pointers: Mapping[str, Place] = field(default_factory=dict[str, Place])
    values: Mapping[str, Expr] = field(default_factory=dict[str, Expr])

    @staticmethod
    def of(facts: Facts) -> Scope:
        """At the start of the kernel."""
        return Scope(facts, _assigned(facts.kernel.function.body))

    def declare(self, statement: Statement) -> Scope:
        """After a declaration; other statements change nothing."""
        if not isinstance(statement, Declare):
            return self
        name, value = statement.name, statement.value
        hidden = self._hide(name)
        if value is None or statement.sizes or name in self.assigned:
            return hidden
        if statement.pointer:
            place = self.address(value)
            return (
                hidden
                if place is None
                else replace(hidden, pointers={**hidden.pointers, name: place})
            )
        integral = statement.type == "auto" or is_wide_integer(statement.type)
        found = self.form(value) if integral else None
        if found is not None:
            return replace(hidden, integers={**hidden.integers, name: found})
        if name in names_in(value):
            return hidden
        return replace(hidden, values={**hidden.values, name: value})

    def loop(self, loop: Loop | Stepped) -> Scope:
        """Within a loop: its variable is a name of its own."""
        hidden = self._hide(loop.variable)
        return replace(
            hidden, integers={**hidden.integers, loop.variable: Form.name(f"%{loop.variable}")}
        )

    def _hide(self, name: str) -> Scope:
        return replace(
            self,
            integers={n: v for n, v in self.integers.items() if n != name},
            pointers={n: v for n, v in self.pointers.items() if n != name},
            values={n: v for n, v in self.values.items() if n != name and name not in names_in(v)},
        )

    def form(self, expr: Expr) -> Form | None:
        """An integer expression as a polynomial; None: it is none, or it depends on data."""
        match expr:
            case Number(text=text):
                number = integer_value(text)
                return None if number is None else Form.number(number)
            case Name(name=name):
                if name in self.integers:
                    return self.integers[name]
                if BUILT_IN.fullmatch(name):
                    return Form.name(name)
                return None if name in self.values else self.facts.sizes.get(name)
            case Converted(type=kind, operand=operand) if is_wide_integer(kind):
                return self.form(operand)
            case Binary(operator=operator, left=left, right=right):
                a, b = self.form(left), self.form(right)
                return None if a is None or b is None else _combined(operator, a, b)
            case _:
                return None

    def address(self, expr: Expr) -> Place | None:
        """Where a pointer expression points to."""
        match expr:
            case Name(name=name) if name in self.pointers:
                return self.pointers[name]
            case Name(name=name) if name in self.facts.arrays:
                return Place(name, Form())
            case Binary(operator="+", left=left, right=right):
                at = self.address(left)
                pointer, offset = (at, right) if at else (self.address(right), left)
                index = self.form(offset)
                return Place(pointer.array, pointer.index + index) if pointer and index else None
            case Unary(operator="&", operand=Item() as item):
                return self.place(item)
            case _:
                return None

    def place(self, expr: Expr) -> Place | None:
        """The element of a global array that an expression is."""
        if not isinstance(expr, Item) or len(expr.indices) != 1:
            return None
        base, index = self.address(Name(expr.span, expr.array)), self.form(expr.indices[0])
        return None if base is None or index is None else Place(base.array, base.index + index)

    def value(self, expr: Expr) -> Expr:
        """What a value is before conversions, and behind a name that only holds it."""
        found = unconverted(expr)
        while isinstance(found, Name) and found.name in self.values:
            found = unconverted(self.values[found.name])
        return found


def _assigned(body: TreeNode) -> frozenset[str]:
    """Names that are written after their declaration, however deep in an expression, or lent; what
    the head of a loop counts is the loop's."""
    heads = {h for n in walk(body) if (h := n.child_by_field_name("update")) is not None}
    changed = (pair for n in walk(body) if n not in heads for pair in (written_by(n), lent_by(n)))
    return frozenset(text_of(n) for n in changed if n is not None)


def _combined(operator: str, a: Form, b: Form) -> Form | None:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return quotient(a, b)
        case "%":
            return remainder(a, b)
        case "<<" if (by := b.constant) is not None and 0 <= by < 32:
            return a * Form.number(1 << by)
        case _:
            return None


def element_map(facts: Facts, scope: Scope, value: Expr) -> tuple[Place, str]:
    """The element, and the value as C++ over `element`; Unfit where it depends on more.

    `value`: as `Scope.value` gives it.
    """
    items = [e for e in within(value) if isinstance(e, Item)]
    places = {scope.place(item) for item in items}
    place = next(iter(places)) if len(places) == 1 else None
    if place is None or place.array not in facts.inputs:
        raise Unfit("what is added is no function of one element of an input")
    inside = [e for item in items for index in item.indices for e in within(index)]
    if any(isinstance(e, Name | Opaque) for e in within(value) if e not in inside):
        raise Unfit("what is added depends on more than the element")
    named = [Edit(*item.span, "element") for item in items]
    return place, edited(facts.source, named, *value.span)
