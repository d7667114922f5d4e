"""Index arithmetic as polynomials of names with integer coefficients.

`i * W + j + 1` is affine in the loop variables i and j, with coefficients that are polynomials of
the sizes: W and 1. Two expressions that are written in other ways have one form. A quotient that is
not exact is a name of its own, and `a % b` is `a - b * (a / b)`, as in C, so that
`i / n * n + i % n` is `i`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Self

Monomial = tuple[str, ...]
"""names in order, one as often as its power; empty: the constant"""


@dataclass(frozen=True, slots=True)
class Form:
    """A polynomial of names with integer coefficients; equal ones compare equal."""

    terms: tuple[tuple[Monomial, int], ...] = ()
    """in order, no coefficient 0"""

    @classmethod
    def of(cls, terms: Iterable[tuple[Monomial, int]]) -> Self:
        """The sum of the terms, in any order."""
        total = dict[Monomial, int]()
        for names, factor in terms:
            monomial = names if len(names) < 2 else tuple(sorted(names))
            total[monomial] = total.get(monomial, 0) + factor
        return cls(tuple(sorted((m, f) for m, f in total.items() if f)))

    @classmethod
    def number(cls, value: int) -> Self:
        """A constant."""
        return cls((((), value),) if value else ())

    @classmethod
    def name(cls, name: str) -> Self:
        """A name as it is."""
        return cls((((name,), 1),))

    def __add__(self, other: Form) -> Form:
        return Form.of([*self.terms, *other.terms])

    def __neg__(self) -> Form:
        return Form(tuple((m, -f) for m, f in self.terms))

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
        """With forms in place of names; names within quotients stay as they are."""
        total = list[tuple[Monomial, int]]()
        for monomial, factor in self.terms:
            product = Form(((tuple(n for n in monomial if n not in values), factor),))
            for name in monomial:
                if name in values:
                    product = product * values[name]
            total += product.terms
        return Form.of(total)

    def value(self, values: Mapping[str, int]) -> int:
        """The number that it is for numbers; KeyError for a name without one."""
        return sum(f * prod(values[name] for name in m) for m, f in self.terms)

    def text(self) -> str:
        """As an expression that C++ and specs read alike; equal forms have one text."""
        if not self.terms:
            return "0"
        return " + ".join(_product(m, f) for m, f in self.terms).replace("+ -", "- ")

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


def quotient(a: Form, b: Form) -> Form:
    """`a / b` of integers: exact where every coefficient divides, else a name of its own."""
    if a == b:
        return Form.number(1)
    by = b.constant
    if by is not None and by != 0 and all(f % by == 0 for _, f in a.terms):
        return Form.of((m, f // by) for m, f in a.terms)
    return Form.name(f"(({a.text()}) / ({b.text()}))")


def remainder(a: Form, b: Form) -> Form:
    """`a % b` of integers."""
    return a - b * quotient(a, b)


def exact_quotient(a: Form, b: Form) -> Form | None:
    """`a / b` where b is a single product and divides every term; else None."""
    if len(b.terms) != 1:
        return None
    names, by = b.terms[0]
    terms = list[tuple[Monomial, int]]()
    for monomial, factor in a.terms:
        left = list(monomial)
        for name in names:
            if name not in left:
                return None
            left.remove(name)
        if factor % by:
            return None
        terms.append((tuple(left), factor // by))
    return Form.of(terms)


def _product(monomial: Monomial, factor: int) -> str:
    if not monomial:
        return str(factor)
    if factor in (1, -1):
        return ("-" if factor < 0 else "") + " * ".join(monomial)
    return " * ".join((str(factor), *monomial))
