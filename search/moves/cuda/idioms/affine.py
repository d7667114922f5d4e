"""Index expressions in a normal form: sums of products of names with integer coefficients.

`row * cols + j` and `j + cols * row` are one `Poly`. Affine in a loop variable means degree 1 in
its name. Integer division is a name of its own, and `a % b` is `a - b * (a / b)`, as in C, so that
`i / n * n + i % n` is `i`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""names in order, each as often as its power"""


@dataclass(frozen=True)
class Poly:
    """A polynomial over names; two that are equal as polynomials are equal as values."""

    terms: tuple[tuple[Monomial, int], ...] = ()
    """monomials in order, no coefficient 0"""

    @staticmethod
    def of(terms: Iterable[tuple[Monomial, int]]) -> Poly:
        """From monomials in any order, added up."""
        total = Counter[Monomial]()
        for monomial, coefficient in terms:
            total[tuple(sorted(monomial))] += coefficient
        return Poly(tuple(sorted((m, c) for m, c in total.items() if c)))

    @staticmethod
    def number(value: int) -> Poly:
        """A constant."""
        return Poly.of([((), value)])

    @staticmethod
    def name(name: str) -> Poly:
        """One name."""
        return Poly((((name,), 1),))

    def __add__(self, other: Poly) -> Poly:
        return Poly.of((*self.terms, *other.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + other * Poly.number(-1)

    def __mul__(self, other: Poly) -> Poly:
        return Poly.of((a + b, x * y) for a, x in self.terms for b, y in other.terms)

    @property
    def names(self) -> frozenset[str]:
        """All names that occur."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    @property
    def constant(self) -> int | None:
        """Its value if no name occurs."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == () and len(self.terms) == 1 else None

    def coefficient(self, name: str) -> Poly | None:
        """The factor of `name`, which is free of it; None when the degree is above 1."""
        if any(monomial.count(name) > 1 for monomial, _ in self.terms):
            return None
        return Poly.of((_without(m, name), c) for m, c in self.terms if name in m)

    def without(self, name: str) -> Poly:
        """The terms in which `name` does not occur."""
        return Poly.of((m, c) for m, c in self.terms if name not in m)

    def substitute(self, values: Mapping[str, Poly]) -> Poly:
        """Every name in `values` replaced, names within divisions as they are."""
        total = Poly()
        for monomial, coefficient in self.terms:
            product = Poly.number(coefficient)
            for name in monomial:
                product *= values.get(name, Poly.name(name))
            total += product
        return total

    def value(self, values: Mapping[str, int]) -> int:
        """The number that it is for numbers; KeyError for a name without one."""
        total = 0
        for monomial, coefficient in self.terms:
            for name in monomial:
                coefficient *= values[name]
            total += coefficient
        return total

    def text(self) -> str:
        """As an expression that C++ and specs read alike; the normal form, for equal text too."""
        if not self.terms:
            return "0"
        return " + ".join(_product(m, c) for m, c in self.terms).replace("+ -", "- ")


def quotient(a: Poly, b: Poly) -> Poly:
    """`a / b` of integers: exact where every coefficient divides, else a name of its own."""
    if a == b:
        return Poly.number(1)
    by = b.constant
    if by is not None and by != 0 and all(c % by == 0 for _, c in a.terms):
        return Poly.of((m, c // by) for m, c in a.terms)
    return Poly.name(f"(({a.text()}) / ({b.text()}))")


def remainder(a: Poly, b: Poly) -> Poly:
    """`a % b` of integers."""
    return a - b * quotient(a, b)


def _without(monomial: Monomial, name: str) -> Monomial:
    at = monomial.index(name)
    return monomial[:at] + monomial[at + 1 :]


def _product(monomial: Monomial, coefficient: int) -> str:
    if not monomial:
        return str(coefficient)
    if coefficient in (1, -1):
        return ("-" if coefficient < 0 else "") + " * ".join(monomial)
    return " * ".join((str(coefficient), *monomial))
