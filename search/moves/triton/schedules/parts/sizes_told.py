"""What a number that a launch hands over stands for: the simplest product of sizes that has its
value at every shape that was looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod

from ......runners.errors import ExpressionError
from ......runners.specs.expressions import evaluate_int
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec

UNKNOWN = 1 << 62
MOST_FACTORS = 4
MOST_MORE = 64
"""than a size, of `tokens + 1` or `size - 2`"""


def size_told(
    values: Sequence[int], symbols: Sequence[Mapping[str, int]], spec: KernelSpec
) -> Expression | None:
    """The size, over symbols; None where no product of them, nor one divided by a power of two, nor
    a symbol and a number has these values."""
    changing = [n for n in spec.symbols if len({each[n] for each in symbols}) > 1]
    if len(set(values)) == 1:
        return values[0]
    for size in _products(changing):
        at = [prod(each[n] for n in size) for each in symbols]
        if at == list(values):
            return " * ".join(size)
        factor, rest = divmod(values[0], at[0]) if at[0] else (0, 1)
        if not rest and factor > 1 and [factor * each for each in at] == list(values):
            return f"{factor} * {' * '.join(size)}"
    for size in _products(changing):
        at = [prod(each[n] for n in size) for each in symbols]
        for by in (2**n for n in range(1, 15)):
            if [-(-each // by) for each in at] == list(values):
                return f"cdiv({' * '.join(size)}, {by})"
            if [each // by for each in at] == list(values):
                return f"{' * '.join(size)} // {by}"
    for name in changing:
        more = {value - each[name] for value, each in zip(values, symbols, strict=True)}
        if len(more) == 1 and abs(first := more.pop()) <= MOST_MORE:
            return f"{name} {'+' if first > 0 else '-'} {abs(first)}"
    return None


def _products(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for many in range(1, MOST_FACTORS + 1):
        yield from combinations_with_replacement(names, many)


def largest_value(size: Expression, spec: KernelSpec) -> int:
    """The largest legal value of a size; UNKNOWN where it has none."""
    most = {
        name: max(w.symbols[name] for w in spec.workloads) if domain is None else domain.max
        for name, domain in spec.symbols.items()
    }
    try:
        return evaluate_int(size, most)
    except ExpressionError:
        return UNKNOWN
