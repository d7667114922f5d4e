"""A lift with what is known of its sizes in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ......analysis.lift import Lifted
from ......analysis.lift.expressions import Expr, Name, Number
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Dim, changed
from ......runners.specs.part import Expression


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
