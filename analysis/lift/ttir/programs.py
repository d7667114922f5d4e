"""One axis of programs that counts the tiles of several dimensions, as axes of their own.

`pid // n` and `pid % n` are the coordinates of a tile, and so are those of programs in groups, or
in any other order. The expressions that a kernel makes of its program's number are such coordinates
where they give every place of a grid once, which is tried at launches that really occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd, prod

import numpy as np

from ..expressions import Expr, Fold, Load, Name, Sum, names_in, walk
from ..interpreting import Array, value_of
from ..rewriting import rebuilt
from ..statements import Body, changed, expressions_in
from ..sums import from_terms, product, total

PROGRAM, PROGRAMS = "ctaid.x", "nctaid.x"
LETTERS = ("x", "y", "z")
MOST_PROGRAMS = 1 << 20
FEW = 3
"""tiles along each axis that one launch has at least: fewer prove no order"""


def in_axes(
    body: Body, launches: Sequence[Mapping[str, int]]
) -> tuple[Body, dict[str, Expr | None]]:
    """Statements over an axis of programs for each coordinate, and how many tiles each axis has,
    None where no expression of the kernel says so; as they are where there is one alone.
    `launches`: sizes, and the number of programs as `nctaid.x`."""
    sizes = frozenset(launches[0])
    bases = _coordinates(body, sizes)
    used = {n for e in expressions_in(body) for n in names_in(e)}
    free = [n for n in LETTERS if f"ctaid.{n}" not in used or n == "x"]
    if bases is None or not 2 <= len(bases) <= len(free) or PROGRAMS in used:
        return body, {}
    extents = _extents(bases, launches)
    if extents is None:
        return body, {}
    axes = {base: f"ctaid.{letter}" for base, letter in zip(bases, free, strict=False)}
    made = changed(body, lambda e: _mapped(e, lambda base: Name(axes[base]), sizes))
    if PROGRAM not in axes.values():
        return body, {}
    told = {
        f"n{axis}": _told(bases, [each[at] for each in extents], launches)
        for at, axis in enumerate(axes.values())
    }
    return made, told


def _coordinates(body: Body, sizes: frozenset[str]) -> list[Expr] | None:
    """What statements make of the program's number, each once; None where that is not clear."""
    found = dict[Expr, None]()

    def note(base: Expr) -> Expr:
        found[base] = None
        return base

    try:
        for expr in expressions_in(body):
            _mapped(expr, note, sizes)
    except _Unclear:
        return None
    return [*found]


class _Unclear(Exception):
    """Coordinates that are multiplied with each other."""


def _mapped(expr: Expr, change: Callable[[Expr], Expr], sizes: frozenset[str]) -> Expr:
    """The expression with others in place of its coordinates: in sums what is multiplied by one
    factor together, without the number that divides it."""
    if PROGRAM not in names_in(expr):
        return expr
    if isinstance(expr, Sum):
        return _mapped_sum(expr, change, sizes)
    if _is_coordinate(expr, sizes):
        return change(expr)
    return rebuilt(expr, lambda part: _mapped(part, change, sizes))


def _is_coordinate(expr: Expr, sizes: frozenset[str]) -> bool:
    """Whether it is an integer made of the program's number and sizes alone."""
    whole = expr.dtype == "int" and not any(isinstance(e, Load | Fold) for e in walk(expr))
    return whole and names_in(expr) <= {PROGRAM, *sizes}


def _mapped_sum(expr: Sum, change: Callable[[Expr], Expr], sizes: frozenset[str]) -> Expr:
    groups = dict[tuple[Expr, ...], dict[tuple[Expr, ...], int]]()
    others = list[Expr]()
    for factors, number in expr.terms:
        moving = [f for f in factors if PROGRAM in names_in(f)]
        still = tuple(f for f in factors if PROGRAM not in names_in(f))
        if not moving:
            others.append(from_terms({factors: number}))
        elif len(moving) > 1:
            raise _Unclear
        elif not _is_coordinate(moving[0], sizes):
            others.append(product(_mapped(moving[0], change, sizes), from_terms({still: number})))
        else:
            groups.setdefault(still, {})[tuple(moving)] = number
    for still, terms in groups.items():
        by = gcd(*terms.values())
        base = from_terms({factors: number // by for factors, number in terms.items()})
        others.append(product(change(base), from_terms({still: by})))
    return total(others)


def _extents(
    bases: Sequence[Expr], launches: Sequence[Mapping[str, int]]
) -> list[tuple[int, ...]] | None:
    """How many tiles each coordinate has at each launch; None where they do not give every place
    of a grid once, or are too few to show it."""
    found = list[tuple[int, ...]]()
    for launch in launches:
        many = launch.get(PROGRAMS, 0)
        if not 0 < many <= MOST_PROGRAMS:
            return None
        values = [*_values(bases, launch, np.arange(many))]
        if any(each.min() < 0 for each in values):
            return None
        sizes = tuple(int(each.max()) + 1 for each in values)
        if prod(sizes) != many:
            return None
        flat = np.ravel_multi_index([*values], sizes)
        if len(np.unique(flat)) != many:
            return None
        found.append(sizes)
    return found if any(min(each) >= FEW for each in found) else None


def _values(bases: Sequence[Expr], launch: Mapping[str, int], programs: Array) -> Iterator[Array]:
    names: dict[str, Array] = {n: np.asarray(v) for n, v in launch.items()}
    for base in bases:
        yield np.broadcast_to(value_of(base, {**names, PROGRAM: programs}), programs.shape)


def _told(
    bases: Sequence[Expr], sizes: Sequence[int], launches: Sequence[Mapping[str, int]]
) -> Expr | None:
    """The part of the coordinates that is as large as an axis at every launch."""
    for part in dict.fromkeys(e for base in bases for e in walk(base)):
        if PROGRAM in names_in(part) or part.dtype != "int" or not names_in(part):
            continue
        at = [int(value_of(part, {n: np.asarray(v) for n, v in each.items()})) for each in launches]
        if at == list(sizes):
            return part
    return None
