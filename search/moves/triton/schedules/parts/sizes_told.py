"""What a number that a launch hands over stands for: the simplest product of sizes that has its
value at every shape that was looked at; and a lift with what is known of its sizes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement
from math import prod

from ......analysis.lift import Lifted
from ......analysis.lift.conditions import settled
from ......analysis.lift.expressions import Expr, Name, Number, call
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Dim, changed
from ......runners.errors import ExpressionError
from ......runners.specs.expressions import evaluate_int
from ......runners.specs.part import Expression
from ......runners.specs.spec import KernelSpec
from ....shared.lifted.online import with_plain_folds

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


def same_sizes(sizes: Mapping[str, Expression]) -> dict[str, Expr]:
    """Sizes that are numbers, and those that are another one's, by the first of their kind."""
    first, known = dict[Expression, str](), dict[str, Expr]()
    for name, size in sizes.items():
        if isinstance(size, int):
            known[name] = Number(size)
        elif size in first:
            known[name] = Name(first[size])
        else:
            first[size] = name
    return known


def without_single_places(lifted: Lifted) -> Lifted:
    """Without dimensions that have one place: of a kernel for rows of columns, those of one
    column."""
    single: dict[str, Expr] = {d.name: Number(0) for d in lifted.dims if d.extent == Number(1)}
    dims = tuple(d for d in lifted.dims if d.name not in single)
    body = changed(lifted.body, lambda e: substitute(e, single))
    return replace(lifted, dims=dims, body=body) if single and dims else lifted


def over(lifted: Lifted, known: Mapping[str, Expr]) -> Lifted:
    """The lift with others in place of names."""
    dims = tuple(Dim(d.name, substitute(d.extent, known)) for d in lifted.dims)
    return replace(lifted, dims=dims, body=changed(lifted.body, lambda e: substitute(e, known)))


def plainly(lifted: Lifted, at_most: Mapping[str, int]) -> Lifted:
    """With folds of one value each, however the kernel cut them into blocks."""
    facts = [call("le", Name(n), Number(most), dtype="bool") for n, most in at_most.items()]
    for each in lifted.dims:
        if isinstance(each.extent, Name) and each.extent.name in at_most:
            most = Number(at_most[each.extent.name])
            facts.append(call("lt", Name(each.name), most, dtype="bool"))
    return replace(lifted, body=settled(with_plain_folds(lifted.body), tuple(facts)))


def follows_size(blocks: Sequence[int], values: Sequence[int]) -> bool:
    """Whether a block is a size rounded up to a power of two, or the most that blocks are."""
    return all(2 * v > b >= v or v > b == max(blocks) for b, v in zip(blocks, values, strict=True))
