"""Sizes as expressions: the simplest product of a kernel's integers that every sample meets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod

from ..expressions import names_in
from ..statements import Lifted
from ..sums import terms_of
from .indexing import accessed

Polynomial = tuple[tuple[str, ...], int, int]
"""factors, what multiplies their product, and what is added"""
Reached = Sequence[tuple[Mapping[str, int], int]]
"""sizes, and the number of elements that they need"""
MOST_FACTORS, MOST, MOST_LEFT = 4, 64, 3


def fitted(reached: Reached, more: Sequence[Mapping[str, int]] = ()) -> Polynomial | None:
    """`number * product + offset` that is right everywhere; None where there is no such one, or
    several that are as simple. `more`: values of compound sizes, of each sample."""
    if any(count <= 0 for _, count in reached):
        return None
    found = _fitted(reached) or _fitted([(_with_next(sizes), count) for sizes, count in reached])
    if found is not None or not more:
        return found
    common = set(more[0]).intersection(*more)
    wider = [
        ({**sizes, **{n: v for n, v in values.items() if n in common}}, count)
        for (sizes, count), values in zip(reached, more, strict=True)
    ]
    return _fitted(wider) if common else None


def led(reached: Reached, steps: Iterable[str]) -> Polynomial | None:
    """Sizes by which an array is stepped and one more before them, where its last row is reached
    everywhere: windows may leave out its end. None where that is so of none, or of several."""
    found, names = dict[frozenset[str], Polynomial](), sorted(steps)
    for count in range(1, MOST_FACTORS):
        for inner in combinations(names, count):
            for lead in sorted(reached[0][0].keys() - {*inner}):
                rows = [(prod(s[n] for n in inner), s[lead], last) for s, last in reached]
                if all(row * (n - 1) < last <= row * n for row, n, last in rows):
                    found[frozenset((lead, *inner))] = ((lead, *inner), 1, 0)
    return next(iter(found.values())) if len(found) == 1 else None


def _with_next(sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Each size, and one more than it: of a matrix of which one row is read, its number says how
    many rows there are at least."""
    return {**sizes, **{f"({name} + 1)": value + 1 for name, value in sizes.items()}}


def _fitted(reached: Reached) -> Polynomial | None:
    names = sorted(reached[0][0])
    for degree in range(MOST_FACTORS + 1):
        plain = list[Polynomial]()
        for factors in combinations_with_replacement(names, degree):
            found = _line(factors, reached)
            if found is not None:
                plain.append(found)
        # one element less than a product is the whole of it: stencils leave out the last one
        plain = [(f, n, 0 if degree > 1 and -MOST_LEFT <= o < 0 else o) for f, n, o in plain]
        exact = [each for each in plain if each[1:] == (1, 0)] or plain
        if exact:
            return exact[0] if len(exact) == 1 else None
    return None


def covering(reached: Reached, known: Sequence[Polynomial]) -> Polynomial | None:
    """The size of another array that is as large everywhere, and not twice as large: what a stencil
    writes inside a rim lies in an array of the size of what it reads."""
    for factors, number, offset in known:
        if not reached[0][0].keys() >= {*factors}:
            continue  # a compound size
        sizes = [number * prod(s[name] for name in factors) + offset for s, _ in reached]
        if len(factors) > 1 and all(
            c <= p < 2 * c for p, (_, c) in zip(sizes, reached, strict=True)
        ):
            return factors, number, offset
    return None


def _line(factors: tuple[str, ...], reached: Reached) -> Polynomial | None:
    """Through the first two samples, if it meets the others."""
    places = [prod(sizes[name] for name in factors) for sizes, _ in reached]
    counts = [count for _, count in reached]
    if not factors:
        return ((), 0, counts[0]) if len(set(counts)) == 1 else None
    pair = next(((a, b) for a, b in _pairs(len(places)) if places[a] != places[b]), None)
    if pair is None:
        return None
    one, other = pair
    number = Fraction(counts[one] - counts[other], places[one] - places[other])
    offset = counts[one] - number * places[one]
    if number.denominator != 1 or not 1 <= number <= MOST or abs(offset) > MOST:
        return None
    made = (factors, int(number), int(offset))
    met = all(number * p + offset == c for p, c in zip(places, counts, strict=True))
    return made if met else None


def _pairs(count: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(count) for b in range(a + 1, count))


def written(size: Polynomial, lifted: Lifted, array: str) -> tuple[str, ...]:
    """A size as a shape: the factors that the array is not stepped by first, as rows come before
    columns; one expression where something is added."""
    factors, number, offset = size
    if not factors:
        return (str(offset),)
    steps = steps_of(lifted, array)
    ordered = sorted(factors, key=lambda name: (steps.get(name, 0), factors.index(name)))
    if any(name.startswith("(") and " + 1)" not in name for name in factors):
        ordered.sort(key=lambda name: name.startswith("("))
        if len(factors) == 1 and number == 1 and not offset:
            return (factors[0][1:-1],)
        compound = " * ".join(([str(number)] if number > 1 else []) + ordered)
        return (f"{compound} {'+' if offset > 0 else '-'} {abs(offset)}" if offset else compound,)
    if offset:
        product = " * ".join(([str(number)] if number > 1 else []) + ordered)
        return (f"{product} {'+' if offset > 0 else '-'} {abs(offset)}",)
    if number > 1:
        return (
            (f"{number} * {ordered[0]}", *ordered[1:])
            if len(ordered) == 1
            else (" * ".join([str(number), *ordered]),)
        )
    return tuple(ordered)


def steps_of(lifted: Lifted, array: str) -> dict[str, int]:
    """In how many products of an index each size stands: the size of the innermost dimension
    stands in most of them."""
    found = dict[str, int]()
    integers = {a.name for a in lifted.arguments if not a.array}
    for index in (at for name, at in accessed(lifted) if name == array):
        here = dict[str, int]()
        for factors in terms_of(index):
            moving = [f for f in factors if names_in(f) - integers]
            for name in {n for f in factors for n in names_in(f) & integers} if moving else ():
                here[name] = here.get(name, 0) + 1
        for name, count in here.items():
            found[name] = max(found.get(name, 0), count)
    return found
