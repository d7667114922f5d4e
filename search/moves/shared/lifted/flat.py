"""All parallel places of a lift as one index, in the order in which the output lies in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .....analysis.lift.expressions import (
    ONE,
    ZERO,
    Call,
    Expr,
    Load,
    Name,
    Number,
    call,
    names_in,
    walk,
)
from .....analysis.lift.host.apart import apart
from .....analysis.lift.rewriting import rebuilt, substitute
from .....analysis.lift.statements import (
    Body,
    Dim,
    Each,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    expressions_in,
    statements_in,
)
from .....analysis.lift.sums import coefficient, difference, product, total
from .c_expressions import Unwritable
from .computed import Computed
from .names import Names


@dataclass(frozen=True)
class Coordinate:
    """A place in a row or the number of a row, made of the flat index."""

    name: str
    value: Expr
    """over the flat index"""
    row: Expr
    """the length of the rows that it counts in, or counts"""
    moving: bool
    """whether it counts with the flat index, within rows"""


@dataclass(frozen=True)
class Flat:
    """Statements over a flat index and coordinates made of it."""

    index: str
    count: Expr
    body: Body
    coordinates: tuple[Coordinate, ...]


def flattened(plain: Computed, names: Names, width: int = 1, *, updates: bool = False) -> Flat:
    """The lift over one index, of which `width` neighbours go together; `updates`: whether there
    may be nothing but atomic updates. Raises Unwritable where the places of its output are not
    ordered."""
    return _with_short_rows(_flattened(plain, names, updates), width)


def _with_short_rows(flat: Flat, width: int) -> Flat:
    """With coordinates in rows that are never whole vectors, as three colours are, taken by each
    place for itself."""
    short = [c for c in flat.coordinates if isinstance(c.row, Number) and int(c.row.value) % width]
    if not short:
        return flat
    values = {c.name: c.value for c in short}
    return replace(
        flat,
        body=changed(flat.body, lambda each: substitute(each, values)),
        coordinates=tuple(c for c in flat.coordinates if c not in short),
    )


def _flattened(plain: Computed, names: Names, updates: bool) -> Flat:
    dims, body = all_dims(plain)
    body = joined(body)
    if not dims:
        raise Unwritable("it has one place alone")
    stores = [s for s in statements_in(body) if isinstance(s, Store | Scatter)]
    if not any(isinstance(s, Store) for s in stores) and not (updates and stores):
        raise Unwritable("it stores nothing but by atomic updates")
    index = names.fresh("e")
    if len(dims) == 1:
        return _of_one(dims[0], body, index, names, plain)
    in_order, flat = ordered(dims, _read_along(body, stores[0]))
    return _of_several(in_order, flat, body, index, names)


def _read_along(body: Body, first: Store | Scatter) -> Expr:
    """The index by which places are ordered: of what is stored, and where that is but updates, of
    what is read."""
    if isinstance(first, Store):
        return first.index
    loads = [e for expr in expressions_in(body) for e in walk(expr) if isinstance(e, Load)]
    return max(loads, key=lambda e: len(names_in(e.index)), default=first).index


def joined(body: Body) -> Body:
    """Statements in which a place that is stored to either way is stored to once."""
    found = list[Statement]()
    for each in body:
        match each:
            case When(condition, (Store(one, at, yes),), (Store(other, there, no),)) if (
                one == other and at == there
            ):
                value = call("select", condition, yes, no, dtype=yes.dtype)
                found.append(Store(one, at, value))
            case _:
                found.append(each)
    return tuple(found)


def all_dims(plain: Computed) -> tuple[tuple[Dim, ...], Body]:
    """The parallel dimensions and those of loops that do nothing but go over more places, whose
    iterations surely touch different elements. Raises Unwritable where they may not."""
    dims, body = list(plain.lifted.dims), plain.lifted.body
    while (loop := _loop_of(body)) is not None and names_in(loop.count) <= plain.sizes.keys():
        if not apart(loop, [d.extent for d in dims]):
            raise Unwritable("iterations of a loop may store to the same place")
        dims.append(Dim(loop.index, loop.count))
        body = loop.body
    return tuple(dims), body


def _loop_of(body: Body) -> Each | None:
    """The loop that is all that statements do, with a condition around it within it instead: that
    holds in all iterations or in none."""
    match body:
        case (Each(carried=()) as loop,):
            return loop
        case (When(condition, yes, ()),) if (loop := _loop_of(yes)) is not None:
            return replace(loop, body=(When(condition, loop.body, ()),))
        case _:
            return None


def _of_one(dim: Dim, body: Body, index: str, names: Names, plain: Computed) -> Flat:
    renamed = changed(body, lambda each: substitute(each, {dim.name: Name(index)}))
    found = dict[Expr, tuple[Coordinate, Coordinate]]()
    for expr in expressions_in(renamed):
        for each in walk(expr):
            if not isinstance(each, Call) or each.op not in ("div", "rem"):
                continue
            above, below = each.args
            if above == Name(index) and names_in(below) <= plain.sizes.keys():
                if below not in found:
                    found[below] = _pair(below, index, names)
    known: dict[Expr, Expr] = {c.value: Name(c.name) for pair in found.values() for c in pair}
    made = changed(renamed, lambda each: replaced(each, known.get))
    used = {name for expr in expressions_in(made) for name in names_in(expr)}
    coordinates = tuple(c for pair in found.values() for c in pair if c.name in used)
    return Flat(index, dim.extent, made, coordinates)


def _pair(row: Expr, index: str, names: Names) -> tuple[Coordinate, Coordinate]:
    e = Name(index)
    return (
        Coordinate(names.fresh("column"), Call("rem", (e, row), "int"), row, moving=True),
        Coordinate(names.fresh("row"), Call("div", (e, row), "int"), row, moving=False),
    )


def ordered(dims: tuple[Dim, ...], stored: Expr) -> tuple[list[Dim], Expr]:
    """Dimensions by their strides in what is stored, the innermost first, and the flat index."""
    strides = dict[str, Expr | None]()
    for dim in dims:
        found = coefficient(stored, dim.name)
        strides[dim.name] = None if found is None else found[0]
    left, ordered = list(reversed(dims)), list[Dim]()
    stride: Expr = ONE
    flat: Expr = ZERO
    while left:
        dim = next((d for d in left if strides[d.name] == stride), None)
        if dim is None:
            dim = min(left, key=lambda d: _size(strides[d.name]))
        left.remove(dim)
        ordered.append(dim)
        flat = total((flat, product(Name(dim.name), stride)))
        stride = product(stride, dim.extent)
    return ordered, flat


def _size(stride: Expr | None) -> tuple[bool, int]:
    """Smaller strides first, as far as that can be told."""
    return stride is None, 0 if stride is None else sum(1 for _ in walk(stride))


def _of_several(dims: list[Dim], flat: Expr, body: Body, index: str, names: Names) -> Flat:
    e: Expr = Name(index)
    own = {d.name for d in dims}

    def moved(found: Expr) -> Expr:
        rest = difference(found, flat)
        return total((e, rest)) if not names_in(rest) & own else found

    def in_loads(expr: Expr) -> Expr:
        made = rebuilt(expr, in_loads)
        return replace(made, index=moved(made.index)) if isinstance(made, Load) else made

    made = changed(body, in_loads)
    made = _stores(made, moved)
    coordinates, rest = list[Coordinate](), e
    count: Expr = ONE
    renamed = dict[str, Expr]()
    for at, dim in enumerate(dims):
        name = names.fresh(dim.name.replace(".", "_"))
        renamed[dim.name] = Name(name)
        last = at == len(dims) - 1
        value = rest if last else Call("rem", (rest, dim.extent), "int")
        row = dims[0].extent
        coordinates.append(Coordinate(name, value, row, moving=at == 0))
        rest = Call("div", (rest, dim.extent), "int")
        count = product(count, dim.extent)
    made = changed(made, lambda each: substitute(each, renamed))
    used = {name for expr in expressions_in(made) for name in names_in(expr)}
    return Flat(index, count, made, tuple(c for c in coordinates if c.name in used))


def _stores(body: Body, moved: Callable[[Expr], Expr]) -> Body:
    """Statements with the indices of stores changed."""
    found = list(body)
    for at, each in enumerate(found):
        if isinstance(each, Store | Scatter):
            found[at] = replace(each, index=moved(each.index))
        elif isinstance(each, When):
            found[at] = replace(each, yes=_stores(each.yes, moved), no=_stores(each.no, moved))
        elif isinstance(each, Each):
            found[at] = replace(each, body=_stores(each.body, moved))
    return tuple(found)


def replaced(expr: Expr, known: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with others in place of some of its parts, the outermost first."""
    found = known(expr)
    return found if found is not None else rebuilt(expr, lambda each: replaced(each, known))
