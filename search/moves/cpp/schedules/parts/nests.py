"""Loops that lie apart as nests: which of them goes innermost, and what each place computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ......analysis.lift.expressions import ONE, ZERO, Expr, Fold, Load, Number, names_in, walk
from ......analysis.lift.rewriting import rebuilt
from ......analysis.lift.statements import (
    Body,
    Dim,
    Each,
    Lifted,
    Scatter,
    Store,
    defined,
    expressions_in,
    statements_in,
)
from ......analysis.lift.sums import coefficient
from .reductions import Reduction, reduction_of


@dataclass(frozen=True)
class Nest:
    """Statements at every place of dimensions, the innermost last."""

    dims: tuple[Dim, ...]
    body: Body

    @property
    def names(self) -> frozenset[str]:
        """Of the dimensions."""
        return frozenset(each.name for each in self.dims)

    @property
    def store(self) -> Store | None:
        """The one store that it does, if it does nothing else."""
        one = self.body[0] if len(self.body) == 1 else None
        return one if isinstance(one, Store) else None


def body_of(lifted: Lifted) -> Body:
    """The kernel with its dimensions as loops again."""
    body = lifted.body
    for dim in reversed(lifted.dims):
        body = (Each(dim.name, dim.extent, (), body, apart=True),)
    return body


def nest_of(loop: Each) -> Nest:
    """The nest that begins with a loop that is apart: loops that hold nothing but the next one, in
    the order in which memory has their elements."""
    dims, body = [Dim(loop.index, loop.count)], loop.body
    while len(body) == 1 and isinstance(body[0], Each) and body[0].apart:
        inner = body[0]
        if names_in(inner.count) & {each.name for each in dims}:
            break
        dims.append(Dim(inner.index, inner.count))
        body = inner.body
    return Nest(_ordered(tuple(dims), body), body)


def _ordered(dims: tuple[Dim, ...], body: Body) -> tuple[Dim, ...]:
    if len(dims) < 2 or any(isinstance(e, Each) for e in body):
        return dims
    places = list(_indices(body))
    inner = max(dims, key=lambda d: (_contiguous(places, d.name), dims.index(d)))
    others = [each for each in dims if each is not inner]
    stored = [index for index, is_store in places if is_store]
    others.sort(key=lambda d: -max((_size(index, d.name) for index in stored), default=0))
    return (*others, inner)


def _indices(body: Body) -> Iterator[tuple[Expr, bool]]:
    """(the index, whether it is stored to) of each access."""
    for each in statements_in(body):
        if isinstance(each, Store | Scatter):
            yield each.index, True
    for expr in expressions_in(body):
        for part in walk(expr):
            if isinstance(part, Load):
                yield part.index, False


def _contiguous(places: list[tuple[Expr, bool]], name: str) -> int:
    """How much speaks for a dimension as the innermost one."""
    found = 0
    for index, stored in places:
        stride = coefficient(index, name)
        if stride is not None and stride[0] == ONE:
            found += 3 if stored else 2
        elif stride is None or stride[0] != ZERO:
            found -= 3 if stored else 2
    return found


def _size(index: Expr, name: str) -> int:
    """How far an index moves with a name, as far as its form tells."""
    stride = coefficient(index, name)
    if stride is None or stride[0] == ZERO:
        return 0
    if isinstance(stride[0], Number):
        return 1
    return 1 + max(len(factors) for factors, _ in getattr(stride[0], "terms", (((1,), 1),)))


def folds_in(exprs: list[Expr]) -> list[Fold]:
    """Folds of expressions, those within others first, each once."""
    found = dict[Fold, None]()

    def look(expr: Expr) -> None:
        for part in walk(expr):
            if isinstance(part, Fold) and part not in found:
                for carried in part.carried:
                    look(carried.first)
                    look(carried.next)
                found[part] = None

    for each in exprs:
        look(each)
    return list(found)


def whole_folds(nest: Nest) -> list[Reduction] | None:
    """The folds that every place of the innermost dimension has of its own, in the order in which
    they need each other; None where one of them is no reduction."""
    inner = nest.dims[-1].name
    found = list[Reduction]()
    for fold in _outer_folds(list(expressions_in(nest.body))):
        if inner not in names_in(fold):
            continue
        made = reduction_of(fold)
        if made is None or any(inner in names_in(count) for _, count in made.loops):
            return None
        found.append(made)
    return found


def _outer_folds(exprs: list[Expr]) -> list[Fold]:
    """Folds that are no loop of another one; those that another one needs as a whole come first."""
    found = dict[Fold, None]()
    inner_loops = set[Fold]()
    for fold in folds_in(exprs):
        made = reduction_of(fold)
        if made is not None and len(made.loops) > 1:
            inner_loops |= {f for c in fold.carried for f in [c.next] if isinstance(f, Fold)}
        found[fold] = None
    return [each for each in found if each not in inner_loops]


def free_names(fold: Fold) -> set[str]:
    """Names in a fold that it does not bind."""
    bound = set[str]()
    for part in walk(fold):
        if isinstance(part, Fold):
            bound |= {part.index, *(each.name for each in part.carried)}
    return names_in(fold) - bound


def with_value(expr: Expr, part: Expr, value: Expr) -> Expr:
    """An expression with a value in place of a part."""
    return value if expr == part else rebuilt(expr, lambda inner: with_value(inner, part, value))


def is_zero(expr: Expr) -> bool:
    """Whether it is the number 0."""
    return isinstance(expr, Number) and expr.value == 0


def given_in(body: Body) -> set[str]:
    """Names that statements give."""
    return defined(body) | {e.index for e in statements_in(body) if isinstance(e, Each)}


def bound_in(body: Body) -> set[str]:
    """What the folds of statements bind."""
    found = set[str]()
    for each in folds_in(list(expressions_in(body))):
        found |= {each.index, *(c.name for c in each.carried)}
    return found
