"""From threads to places: which coordinates of a launch are one parallel dimension.

`blockIdx.x * blockDim.x + threadIdx.x` becomes `i`, whatever it is spelled like: the thread's
coordinate is replaced by `i` minus the block's share, and where no trace of the block is left, the
kernel depends on `i` alone. A loop over the grid is the same dimension again. What bounds `i` in
every statement is its extent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .expressions import (
    ONE,
    ZERO,
    Call,
    Expr,
    Name,
    Number,
    all_of,
    conjuncts,
    names_in,
)
from .rewriting import substitute
from .statements import Barrier, Body, Dim, Each, Let, Lifted, When, changed, expressions_in
from .sums import coefficient, difference, product, total

AXES = ("x", "y", "z")
FREE = ("i", "j", "k")
"""names of dimensions, by axis"""


def in_space(lifted: Lifted, block: Sequence[int] | None = None) -> Lifted:
    """A kernel over threads as one over places. `block`: threads along each axis, where they are
    known; a source may hold them as numbers."""
    sizes = dict(zip(AXES, [*(block or ()), 1, 1, 1], strict=False)) if block else {}
    body = lifted.body
    known: dict[str, Expr] = {f"ntid.{axis}": Number(n) for axis, n in sizes.items()}
    known |= {f"tid.{axis}": ZERO for axis, n in sizes.items() if n == 1}
    body = changed(body, lambda each: substitute(each, known))
    dims = list[Dim]()
    for axis in AXES:
        width = known.get(f"ntid.{axis}", Name(f"ntid.{axis}"))
        body, made = _along(axis, width, body, _taken(lifted, body))
        dims += made
    body = _flat(body)
    return replace(lifted, dims=tuple(reversed(dims)), body=body)


def _taken(lifted: Lifted, body: Body) -> set[str]:
    return {each.name for each in lifted.arguments} | _names(body)


def _names(body: Body) -> set[str]:
    return set[str]().union(*(names_in(each) for each in expressions_in(body)))


def _along(axis: str, width: Expr, body: Body, taken: set[str]) -> tuple[Body, list[Dim]]:
    """The statements over the dimensions of one axis of a launch, the inner first."""
    thread, block, grid = f"tid.{axis}", f"ctaid.{axis}", f"nctaid.{axis}"
    used = _names(body)
    if not used & {thread, block}:
        return body, []
    place = next(
        n for n in (FREE[AXES.index(axis)], *(f"p{n}" for n in range(99))) if n not in taken
    )
    if width != ONE and not any(isinstance(each, Barrier) for each in body):
        instead = difference(Name(place), product(Name(block), width))
        made = changed(body, lambda each: substitute(each, {thread: instead}))
        stride = product(Name(grid), width)
        made = _over_grid(made, place, stride)
        if not _names(made) & {block, thread}:
            extent, rest = _bounded(made, place)
            return rest, [Dim(place, extent or stride)]
    found = list[Dim]()
    if thread in used:
        found.append(Dim(thread, width))
    if block in used:
        if thread not in used or width == ONE:
            renamed = changed(body, lambda each: substitute(each, {block: Name(place)}))
            renamed = _over_grid(renamed, place, Name(grid))
            extent, rest = _bounded(renamed, place)
            return rest, [*found, Dim(place, extent or Name(grid))]
        found.append(Dim(block, Name(grid)))
    return body, found


def _over_grid(body: Body, place: str, stride: Expr) -> Body:
    """Statements with a loop over the grid as what its iterations do, a place each."""
    if len(body) != 1 or not isinstance(body[0], Each) or body[0].carried:
        return body
    loop = body[0]
    end = _end_of(loop.count, place, stride)
    if end is None:
        return body
    step = product(Name(loop.index), stride)
    instead = difference(Name(place), step)
    inner = changed(loop.body, lambda each: substitute(each, {place: instead}))
    if loop.index in _names(inner):
        return body
    condition = Call("lt", (Name(place), end), "bool")
    return (When(condition, inner, ()),)


def _end_of(count: Expr, place: str, stride: Expr) -> Expr | None:
    """`n` where a count is ceil((n - place) / stride)."""
    if stride == ONE:
        whole = count
    elif isinstance(count, Call) and count.op == "div" and count.args[1] == stride:
        whole = difference(total((count.args[0], ONE)), stride)
    else:
        return None
    end = total((whole, Name(place)))
    return None if place in names_in(end) else end


def _bounded(body: Body, place: str) -> tuple[Expr | None, Body]:
    """The extent that a condition around everything gives a dimension, and what is left of it."""
    lets = [each for each in body if isinstance(each, Let)]
    if lets or len(body) != 1 or not isinstance(body[0], When) or body[0].no:
        return None, body
    kept, extent = list[Expr](), None
    for each in conjuncts(body[0].condition):
        bound = _bound(each, place)
        if bound is None or (extent is not None and bound != extent):
            kept.append(each)
        else:
            extent = bound
    if extent is None:
        return None, body
    rest = all_of(tuple(kept))
    return extent, body[0].yes if not kept else (When(rest, body[0].yes, ()),)


def _bound(condition: Expr, place: str) -> Expr | None:
    """`n` of `place < n`, in any form."""
    if not isinstance(condition, Call) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    left, right = condition.args
    if left.dtype != "int":
        return None
    if condition.op in ("gt", "ge"):
        left, right = right, left
    found = coefficient(difference(left, right), place)
    if found is None or found[0] != ONE:
        return None
    bound = difference(ZERO, found[1])
    return total((bound, ONE)) if condition.op in ("le", "ge") else bound


def _flat(body: Body) -> Body:
    """Conditions within conditions as one."""
    if len(body) == 1 and isinstance(body[0], When) and not body[0].no:
        inner = _flat(body[0].yes)
        if len(inner) == 1 and isinstance(inner[0], When) and not inner[0].no:
            both = all_of((*conjuncts(body[0].condition), *conjuncts(inner[0].condition)))
            return (When(both, inner[0].yes, ()),)
        return (When(body[0].condition, inner, ()),)
    return body
