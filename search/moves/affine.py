"""Index arithmetic as polynomials of names, and how C++ and CUDA expressions become ones.

`i * W + j + 1` is affine in the loop variables i and j, with coefficients that are polynomials of
the sizes: W and 1. Two expressions that are written in other ways have one form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from tree_sitter import Node

Monomial = tuple[str, ...]
"""names in order, one as often as its power; empty: the constant"""
Resolve = Callable[[str], "Form | None"]
"""what a name stands for; None: nothing that has a form"""

NARROWING = re.compile(r"float|double|half|char|short|bool|int8|int16")
"""types that do not hold every index"""


@dataclass(frozen=True, slots=True)
class Form:
    """A polynomial of names with integer coefficients; equal ones compare equal."""

    terms: tuple[tuple[Monomial, int], ...] = ()
    """in order, no coefficient 0"""

    @classmethod
    def of(cls, terms: Iterable[tuple[Monomial, int]]) -> Self:
        """The sum of the terms, in any order."""
        total = Counter[Monomial]()
        for monomial, factor in terms:
            total[tuple(sorted(monomial))] += factor
        return cls(tuple(sorted((m, f) for m, f in total.items() if f)))

    @classmethod
    def number(cls, value: int) -> Self:
        """A constant."""
        return cls.of([((), value)])

    @classmethod
    def name(cls, name: str) -> Self:
        """A name as it is."""
        return cls.of([((name,), 1)])

    def __add__(self, other: Form) -> Form:
        return Form.of([*self.terms, *other.terms])

    def __neg__(self) -> Form:
        return Form.of((m, -f) for m, f in self.terms)

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def __mul__(self, other: Form) -> Form:
        return Form.of((m + n, f * g) for m, f in self.terms for n, g in other.terms)

    @property
    def names(self) -> frozenset[str]:
        """Every name in it."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    @property
    def constant(self) -> int | None:
        """Its value when it has no names."""
        return None if self.names else sum(f for _, f in self.terms)

    def coefficient(self, name: str) -> Form | None:
        """What the name is multiplied by; None where its square or a higher power occurs."""
        if any(monomial.count(name) > 1 for monomial, _ in self.terms):
            return None
        return Form.of(
            (tuple(n for n in monomial if n != name), factor)
            for monomial, factor in self.terms
            if name in monomial
        )

    def without(self, *names: str) -> Form:
        """The terms in which none of the names occurs."""
        return Form.of((m, f) for m, f in self.terms if not set(names) & set(m))

    def substitute(self, values: Mapping[str, Form]) -> Form:
        """With forms in place of names."""
        total = Form()
        for monomial, factor in self.terms:
            product = Form.number(factor)
            for name in monomial:
                product = product * values.get(name, Form.name(name))
            total = total + product
        return total

    def at_least(self, bound: int, lowest: Mapping[str, int]) -> bool:
        """Whether it is surely no less than the bound, given the lowest value of its names.

        Names without a lowest value, or with one below 0, are not known to be at least anything.
        False where no proof is found: every product must grow with its names, but for one that
        a product of a larger degree outgrows.
        """
        if any(lowest.get(name, -1) < 0 for name in self.names):
            return False
        # with each name written as its lowest value plus something that is not negative
        moved = self.substitute({n: Form.name(n) + Form.number(lowest[n]) for n in self.names})
        constant = sum(f for m, f in moved.terms if not m)
        return constant >= bound and all(f > 0 for m, f in moved.terms if m)


def form_of(node: Node, resolve: Resolve) -> Form | None:
    """The form of an integer expression of C++ or CUDA; None where it has none.

    Sums, differences and products of integer literals and names; casts and parentheses are
    looked through. Nothing is known of overflow: the program is taken to have none.
    """
    match node.type:
        case "parenthesized_expression":
            return form_of(node.named_children[0], resolve) if node.named_child_count else None
        case "number_literal":
            return _literal(_text(node))
        case "identifier" | "field_expression":
            return resolve(_text(node))
        case "cast_expression" if _keeps_integers(node.child_by_field_name("type")):
            return _field(node, "value", resolve)
        case "call_expression":
            return _cast(node, resolve)
        case "unary_expression":
            inner = _field(node, "argument", resolve)
            sign = _text(node.children[0])
            return None if inner is None else {"-": -inner, "+": inner}.get(sign)
        case "binary_expression":
            return _binary(node, resolve)
        case _:
            return None


def _binary(node: Node, resolve: Resolve) -> Form | None:
    left, right = _field(node, "left", resolve), _field(node, "right", resolve)
    if left is None or right is None:
        return None
    match _text(node.children[1]):
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "<<" if right.constant is not None and 0 <= right.constant < 63:
            return left * Form.number(1 << right.constant)
        case _:
            return None


def _field(node: Node, field: str, resolve: Resolve) -> Form | None:
    child = node.child_by_field_name(field)
    return None if child is None else form_of(child, resolve)


def _cast(node: Node, resolve: Resolve) -> Form | None:
    """Of `static_cast<int>(x)` and `int(x)`."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or given is None or given.named_child_count != 1:
        return None
    static = _text(function).startswith("static_cast<")
    if (static or function.type == "primitive_type") and _keeps_integers(function):
        return form_of(given.named_children[0], resolve)
    return None


def _keeps_integers(kind: Node | None) -> bool:
    return kind is not None and not NARROWING.search(_text(kind))


def _literal(text: str) -> Form | None:
    digits = text.replace("'", "").rstrip("uUlLzZ")
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        return Form.number(int(digits, 8 if octal else 0))
    except ValueError:
        return None


def _text(node: Node) -> str:
    return (node.text or b"").decode()
