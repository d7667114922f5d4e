"""One kernel for several sizes: where its texts of each differ, in numbers alone, stand symbols.

A kernel is written for the sizes of one call, as numbers. Written for several calls, its texts are
the same but for some of the numbers. Each of these is a product of a constant and of sizes that
vary among the calls (`Symbols`), or there is no text of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

NUMBER = re.compile(r"(?<![\w.])(\d+)(\.0f?)?(?![\w.])")
MOST_SYMBOLS = 6


@dataclass(frozen=True)
class Symbols:
    """Sizes that vary: for each symbol its value in every call."""

    values: Mapping[str, tuple[int, ...]]

    def of_call(self, number: int) -> dict[str, int]:
        """Its symbols in one of the calls."""
        return {name: values[number] for name, values in self.values.items()}

    def named_in(self, *texts: str) -> tuple[str, ...]:
        """Those that stand in any of the texts."""
        return tuple(n for n in self.values if any(re.search(rf"\b{n}\b", t) for t in texts))

    def expression(self, numbers: Sequence[int]) -> str | None:
        """What gives these numbers, one for each call: a constant, or one by a product of symbols,
        the fewest. None where nothing does."""
        if len(set(numbers)) == 1:
            return str(numbers[0])
        for count in range(1, len(self.values) + 1):
            for names in combinations(self.values, count):
                factor = _factor(numbers, [self.values[name] for name in names])
                if factor is not None:
                    return " * ".join([*names, *([str(factor)] if factor > 1 else [])])
        return None


def _factor(numbers: Sequence[int], sizes: Sequence[tuple[int, ...]]) -> int | None:
    """The constant by which every number is the product of the sizes."""
    products = [prod(each) for each in zip(*sizes, strict=True)]
    if any(number % product for number, product in zip(numbers, products, strict=True)):
        return None
    found = {number // product for number, product in zip(numbers, products, strict=True)}
    return found.pop() if len(found) == 1 and 0 not in found else None


def symbols_of(shapes: Sequence[Sequence[Sequence[int]]]) -> Symbols | None:
    """The fewest sizes that the dimensions of all tensors follow from; `shapes`: of each call's
    tensors. None where the tensors of calls have other ranks, or too many sizes vary."""
    ranks = {tuple(len(shape) for shape in call) for call in shapes}
    if len(ranks) != 1:
        return None
    found = Symbols({})
    for values in _dimensions(shapes):
        if found.expression(values) is None:
            found = Symbols({**found.values, f"n{len(found.values)}": values})
    return found if 0 < len(found.values) <= MOST_SYMBOLS else None


def _dimensions(shapes: Sequence[Sequence[Sequence[int]]]) -> Iterator[tuple[int, ...]]:
    """Each dimension of each tensor, with its size in every call."""
    for tensors in zip(*shapes, strict=True):
        yield from zip(*tensors, strict=True)


def one_text(texts: Sequence[str], symbols: Symbols, *, python: bool = False) -> str | None:
    """The text of all calls, from that of each; None where they differ in more than sizes. A number
    with a point (`512.0f`) is a symbol's value as such: of C, or of Python."""
    first, *others = (list(_parts(text)) for text in texts)
    if any(len(each) != len(first) for each in others):
        return None
    made = list[str]()
    for parts in zip(first, *others, strict=True):
        if len(set(parts)) == 1:
            made.append(parts[0])
            continue
        numbers = [NUMBER.fullmatch(part) for part in parts]
        told = _number([n for n in numbers if n is not None], symbols, python)
        if told is None or None in numbers:
            return None
        made.append(told)
    return "".join(made)


def _number(found: Sequence[re.Match[str]], symbols: Symbols, python: bool) -> str | None:
    if len({each[2] for each in found}) != 1:
        return None
    expression = symbols.expression([int(each[1]) for each in found])
    if expression is None or found[0][2] is None:
        return None if expression is None else f"({expression})"
    return f"float({expression})" if python else f"(float)({expression})"


def _parts(text: str) -> Iterator[str]:
    """Numbers, and what is between them."""
    at = 0
    for found in NUMBER.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]


def value_of(expression: str, values: Mapping[str, int]) -> int:
    """Of an expression of `Symbols`."""
    return prod(values[e] if e in values else int(e) for e in expression.split(" * "))


def with_values(text: str, values: Mapping[str, int]) -> str:
    """A text of `one_text` with numbers in the place of its symbols, as it is written for them."""
    pattern = re.compile(r"(\(float\)|float)?\(((?:n\d+)(?: \* n?\d+)*)\)")

    def told(found: re.Match[str]) -> str:
        number, kind = value_of(found[2], values), found[1] or ""
        return f"{number}{'' if not kind else '.0f' if kind.startswith('(') else '.0'}"

    return pattern.sub(told, text)


def another(symbols: Symbols) -> dict[str, int]:
    """Sizes of no call, within those of all where there are such, else near them: of each symbol a
    multiple of what all its values are multiples of."""
    return {name: _between(sorted(set(values))) for name, values in symbols.values.items()}


def step_of(values: Sequence[int]) -> int:
    """The largest power of two that all of them are multiples of."""
    return min(value & -value for value in values)


def _between(values: Sequence[int]) -> int:
    step, low, high = step_of(values), values[0], values[-1]
    middle = (low + high) // 2 // step * step
    inside = [n for n in (middle, middle + step) if low < n < high and n not in values]
    return inside[0] if inside else high + step
