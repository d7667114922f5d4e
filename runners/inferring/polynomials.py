"""Polynomials with whole coefficients over names: sizes, indices and strides of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Monomial = tuple[str, ...]
"""names that are multiplied, sorted; empty for 1"""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A sum of products; equal ones have equal terms."""

    terms: tuple[tuple[Monomial, int], ...] = ()
    """each product once, highest degree first, with its factor, which is not 0"""

    def __add__(self, other: Polynomial) -> Polynomial:
        return _summed((*self.terms, *other.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other * number(-1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _summed((tuple(sorted(a + b)), c * d) for a, c in self.terms for b, d in other.terms)

    @property
    def names(self) -> frozenset[str]:
        """All names that stand in it."""
        return frozenset(name for product, _ in self.terms for name in product)

    @property
    def constant(self) -> int | None:
        """Its value where it has no names."""
        return None if self.names else sum(factor for _, factor in self.terms)

    def factor_of(self, name: str) -> Polynomial | None:
        """What a name is multiplied by; None: the name stands in a power of itself."""
        held = [(product, factor) for product, factor in self.terms if name in product]
        if any(product.count(name) > 1 for product, _ in held):
            return None
        return _summed((tuple(n for n in product if n != name), c) for product, c in held)

    def put(self, values: Mapping[str, Polynomial]) -> Polynomial:
        """With names replaced by what they stand for."""
        total = Polynomial()
        for product, factor in self.terms:
            term = number(factor)
            for name in product:
                term *= values.get(name, variable(name))
            total += term
        return total

    def divided(self, by: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Quotient and rest, by the leading term of what is no zero."""
        (lead, leading), quotient, rest, left = by.terms[0], Polynomial(), Polynomial(), self
        while left.terms:
            product, factor = left.terms[0]
            remaining = _without(product, lead)
            count = 0 if remaining is None else factor // leading
            if remaining is None or not count:
                moved = Polynomial(((product, factor),))
                rest, left = rest + moved, left - moved
                continue
            part = Polynomial(((remaining, count),))
            quotient, left = quotient + part, left - part * by
            if left.terms and left.terms[0][0] == product:  # what the whole division left over
                moved = Polynomial((left.terms[0],))
                rest, left = rest + moved, left - moved
        return quotient, rest

    def never_negative(self) -> bool:
        """Whether that is certain where every name stands for 1 or more."""
        moved = self.put({name: variable(name) + number(1) for name in self.names})
        return all(factor > 0 for _, factor in moved.terms)

    def written(self) -> str | int:
        """As an expression of a spec: `(i, i), 2` is `2 * i * i`."""
        if (value := self.constant) is not None:
            return value
        text = ""
        for product, factor in sorted(self.terms, key=lambda t: (-len(t[0]), t[1] < 0, t[0])):
            size = abs(factor)
            shown = " * ".join([str(size)] * (size != 1 or not product) + list(product))
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {shown}" if text else ("-" if factor < 0 else "") + shown
        return text


def number(value: int) -> Polynomial:
    """A constant."""
    return Polynomial((((), value),) if value else ())


def variable(name: str) -> Polynomial:
    """One name."""
    return Polynomial((((name,), 1),))


def _summed(terms: Iterable[tuple[Monomial, int]]) -> Polynomial:
    total = dict[Monomial, int]()
    for product, factor in terms:
        total[product] = total.get(product, 0) + factor
    kept = ((product, factor) for product, factor in total.items() if factor)
    return Polynomial(tuple(sorted(kept, key=_rank)))


def _rank(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(term[0]), term[0]


def _without(product: Monomial, part: Monomial) -> Monomial | None:
    """A product divided by a part of it; None: it is none."""
    left = list(product)
    for name in part:
        if name not in left:
            return None
        left.remove(name)
    return tuple(left)
