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
    call,
    conjuncts,
    names_in,
)
from .fold_laws import bound_of, end_of_strided
from .rewriting import remade, substitute
from .statements import (
    Barrier,
    Body,
    Dim,
    Each,
    Let,
    Lifted,
    Opaque,
    Scatter,
    Statement,
    When,
    changed,
    expressions_in,
    statements_in,
)
from .sums import difference, product, total

AXES = ("x", "y", "z")
FREE = ("i", "j", "k")
"""names of dimensions, by axis"""


def in_space(
    lifted: Lifted, block: Sequence[int] | None = None, alone: Sequence[str] = ()
) -> Lifted:
    """A kernel over threads as one over places. `block`: threads along each axis, where they are
    known; a source may hold them as numbers. `alone`: axes with a single block."""
    sizes = dict(zip(AXES, [*(block or ()), 1, 1, 1], strict=False)) if block else {}
    body = lifted.body
    known: dict[str, Expr] = {f"ntid.{axis}": Number(n) for axis, n in sizes.items()}
    known |= {f"tid.{axis}": ZERO for axis, n in sizes.items() if n == 1}
    for axis in alone:
        known |= {f"nctaid.{axis}": ONE, f"ctaid.{axis}": ZERO}
    body = changed(body, lambda each: substitute(each, known))
    dims, taken = dict[str, list[Dim]](), _taken(lifted, body)
    places = {
        axis: next(n for n in (name, *(f"p{n}" for n in range(99))) if n not in taken)
        for axis, name in zip(AXES, FREE, strict=True)
    }
    for axis in AXES:
        width = known.get(f"ntid.{axis}", Name(f"ntid.{axis}"))
        body, dims[axis] = _of_threads(axis, width, body, places[axis])
    used = {each.name for axis in AXES for each in dims[axis]}
    for axis in AXES:
        place = places[axis] if places[axis] not in used else f"b{axis}"
        body, more = _of_blocks(axis, body, place)
        dims[axis] += more
    body = _flat(body)
    return replace(
        lifted,
        dims=tuple(each for axis in reversed(AXES) for each in reversed(dims[axis])),
        body=body,
    )


def single_blocks(grid: Sequence[int | str]) -> tuple[str, ...]:
    """The axes along which a grid of these sizes has one block."""
    sizes = [*map(str, grid), "1", "1", "1"]
    return tuple(axis for axis, size in zip(AXES, sizes, strict=False) if size == "1")


def _taken(lifted: Lifted, body: Body) -> set[str]:
    return {each.name for each in lifted.arguments} | _names(body)


def _names(body: Body) -> set[str]:
    return set[str]().union(*(names_in(each) for each in expressions_in(body)))


def _of_threads(axis: str, width: Expr, body: Body, place: str) -> tuple[Body, list[Dim]]:
    """The statements without the threads of an axis, or with them as a dimension."""
    thread = f"tid.{axis}"
    if width == ONE or thread not in _names(body):
        return body, []
    made = _one_place(axis, place, width, body)
    if made is not None:
        return made
    body = without_thread(body, thread, width) or body
    return body, [Dim(thread, width)] if thread in _names(body) else []


def _of_blocks(axis: str, body: Body, place: str) -> tuple[Body, list[Dim]]:
    """The statements over the blocks of an axis, whose threads are no part of them."""
    block, grid = f"ctaid.{axis}", f"nctaid.{axis}"
    if block not in _names(body):
        return body, []
    if any(name.startswith("tid.") for name in _names(body)):
        return body, [Dim(block, Name(grid))]
    renamed = changed(body, lambda each: substitute(each, {block: Name(place)}))
    renamed = _over_grid(renamed, place, Name(grid))
    extent, rest = _bounded(renamed, place)
    return rest, [Dim(place, extent or Name(grid))]


def _one_place(axis: str, place: str, width: Expr, body: Body) -> tuple[Body, list[Dim]] | None:
    """Threads of one axis and blocks of this or another one as a single dimension: a transpose has
    its threads along x in blocks along y."""
    body, width = _widened(body, f"tid.{axis}", width)
    if any(isinstance(each, Barrier) for each in statements_in(body)):
        return None
    used = _names(body)
    for other in (axis, *(each for each in AXES if each != axis)):
        block = f"ctaid.{other}"
        if other != axis and block not in used:
            continue
        instead = difference(Name(place), product(Name(block), width))
        made = changed(body, lambda each, to=instead: substitute(each, {f"tid.{axis}": to}))
        stride = product(Name(f"nctaid.{other}"), width)
        made = _over_grid(made, place, stride)
        if not _names(made) & {block, f"tid.{axis}"}:
            extent, rest = _bounded(made, place)
            return rest, [Dim(place, extent or stride)]
    return None


def _widened(body: Body, thread: str, width: Expr) -> tuple[Body, Expr]:
    """Threads that each take several places, one beside the other's, as so many more threads."""
    if len(body) != 1:
        return body, width
    (only,) = body
    if isinstance(only, When) and not only.no and thread not in names_in(only.condition):
        inner, wide = _widened(only.yes, thread, width)
        return (replace(only, yes=inner),), wide
    if not isinstance(only, Each) or only.carried or thread in names_in(only.count):
        return body, width
    made = _at_places(only.body, thread, only.index, width)
    return (body, width) if made is None else (made, product(width, only.count))


def _at_places(body: Body, near: str, far: str, stride: Expr) -> Body | None:
    """Statements of `near + stride*far` over that place, named like `near`."""
    instead = difference(Name(near), product(stride, Name(far)))
    made = changed(body, lambda each: substitute(each, {near: instead}))
    return None if far in _names(made) else made


def without_thread(body: Body, thread: str, width: Expr) -> Body | None:
    """Statements of all threads of a block along one axis as loops over what they do together; None
    where a value is kept from one statement to another, and where there is nothing but threads."""
    out = list[Statement]()
    for each in body:
        made = _by_all(each, thread, width)
        if made is None:
            return None
        out += made
    alone = len(out) == 1 and isinstance(out[0], Each) and out[0].index == f"q{thread[-1]}"
    return None if alone else tuple(out)


def _by_all(each: Statement, thread: str, width: Expr) -> Body | None:
    """One statement of all threads."""
    if isinstance(each, Let | Barrier):
        return None
    used = _names((each,))
    if isinstance(each, Opaque) or (
        thread not in used and not any(isinstance(e, Scatter) for e in statements_in((each,)))
    ):
        return (each,)
    if isinstance(each, When):
        return _when_of_all(each, thread, width)
    if isinstance(each, Each) and not each.carried:
        end = end_of_strided(each.count, Name(thread), width)
        places = None
        if end is not None and thread not in names_in(end):
            places = _at_places(each.body, thread, each.index, width)
        elif thread not in names_in(each.count):
            places = _at_places(each.body, thread, each.index, width)
            end = product(width, each.count)
        if places is not None and end is not None:
            renamed = changed(places, lambda e: substitute(e, {thread: Name(each.index)}))
            return (Each(each.index, end, (), renamed),)
        turns = None if thread in names_in(each.count) else without_thread(each.body, thread, width)
        if turns is not None:  # each thread's turns stay in order, and no others wait for them
            return (replace(each, body=turns),)
    index = f"q{thread[-1]}"
    inner = changed((each,), lambda e: substitute(e, {thread: Name(index)}))
    return (Each(index, width, (), inner),)


def _when_of_all(each: When, thread: str, width: Expr) -> Body | None:
    """A condition: of one thread alone, of every so many, of none in particular, or of each."""
    if thread not in names_in(each.condition) and not each.no:
        inner = without_thread(each.yes, thread, width)
        return None if inner is None else (replace(each, yes=inner),)
    index = f"q{thread[-1]}"
    step = next((n for part in conjuncts(each.condition) if (n := _every(part, thread))), None)
    if each.no or step is None:
        inner = changed((each,), lambda e: substitute(e, {thread: Name(index)}))
        return (Each(index, width, (), inner),)
    known = {thread: product(Name(index), Number(step)) if step > 0 else ZERO}
    inner = changed((each,), lambda e: substitute(e, known))
    if step < 0:
        return inner
    count = remade("div", (total((width, Number(step - 1))), Number(step)), "int")
    return (Each(index, count, (), inner),)


def _every(condition: Expr, thread: str) -> int | None:
    """32 of `thread % 32 == 0`; -1 where it leaves the first thread alone."""
    me = Name(thread)
    match condition:
        case Call("eq", (Call("rem", (value, Number(step))), Number(0))) if value == me:
            return int(step)
        case Call("eq" | "le", (value, Number(0))) | Call("lt", (value, Number(1))) if value == me:
            return -1
        case _:
            return None


def covered(lifted: Lifted, facts: Sequence[Expr] = ()) -> Lifted:
    """Dimensions that end where a launch does, or a block that is large enough as facts say, end
    where a condition around everything does."""
    dims, body = list[Dim](), lifted.body
    for each in lifted.dims:
        extent, rest = _bounded(body, each.name)
        launched = any(name.startswith("nctaid") for name in names_in(each.extent))
        if extent is not None and not launched:
            small = call("le", extent, each.extent, dtype="bool")
            launched = small in facts
        if launched and extent is not None:
            body = rest
        else:
            extent = None
        dims.append(each if extent is None else Dim(each.name, extent))
    return replace(lifted, dims=tuple(dims), body=body)


def _over_grid(body: Body, place: str, stride: Expr) -> Body:
    """Statements with a loop over the grid as what its iterations do, a place each."""
    if len(body) != 1 or not isinstance(body[0], Each) or body[0].carried:
        return body
    loop = body[0]
    end = end_of_strided(loop.count, Name(place), stride)
    if end is None or place in names_in(end):
        return body
    step = product(Name(loop.index), stride)
    instead = difference(Name(place), step)
    inner = changed(loop.body, lambda each: substitute(each, {place: instead}))
    if loop.index in _names(inner):
        return body
    condition = Call("lt", (Name(place), end), "bool")
    return (When(condition, inner, ()),)


def _bounded(body: Body, place: str) -> tuple[Expr | None, Body]:
    """The extent that a condition around everything gives a dimension, and what is left of it."""
    lets = [each for each in body if isinstance(each, Let)]
    if lets or len(body) != 1 or not isinstance(body[0], When) or body[0].no:
        return None, body
    kept, extent = list[Expr](), None
    for each in conjuncts(body[0].condition):
        bound = bound_of(each, place)
        if bound is None or (extent is not None and bound != extent):
            kept.append(each)
        else:
            extent = bound
    if extent is None:
        return None, body
    rest = all_of(tuple(kept))
    return extent, body[0].yes if not kept else (When(rest, body[0].yes, ()),)


def _flat(body: Body) -> Body:
    """Conditions within conditions as one."""
    if len(body) == 1 and isinstance(body[0], When) and not body[0].no:
        inner = _flat(body[0].yes)
        if len(inner) == 1 and isinstance(inner[0], When) and not inner[0].no:
            both = all_of((*conjuncts(body[0].condition), *conjuncts(inner[0].condition)))
            return (When(both, inner[0].yes, ()),)
        return (When(body[0].condition, inner, ()),)
    return body
