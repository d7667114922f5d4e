"""A Triton kernel as what it computes: programs of a launch and places of a block become parallel
dimensions as blocks and threads do (`space.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..accesses import value_type
from ..conditions import settled
from ..expressions import Expr, Name, Number, Pointer, Unreadable, call, names_in
from ..rewriting import numbered, substitute
from ..scattered import summed_over
from ..space import covered, in_space
from ..statements import (
    Argument,
    Body,
    Dim,
    Each,
    Let,
    Lifted,
    Opaque,
    Scatter,
    Statement,
    Store,
    When,
    changed,
    expressions_in,
    statements_in,
)
from .blocks import THREADS, Block, unplaced
from .descriptors import DESCRIPTORS
from .execution import Reader
from .folds import HANDLERS
from .in_place import with_old_values
from .jumps import structured
from .parsing import Region, TritonFunction, functions_in
from .persistent import a_tile_each, under_the_end
from .programs import in_axes


def lift_ttir(
    text: str,
    entry: str,
    arguments: Sequence[Argument],
    at_most: Mapping[str, int] | None = None,
    launches: Sequence[Mapping[str, int]] = (),
    positive: frozenset[str] = frozenset(),
) -> Lifted:
    """A kernel of a module of TTIR as what it computes.

    `arguments`: those that are no constants of the compilation, in order, as the contract calls
    them. `at_most`: sizes that surely are not greater, such as a row that fits in a block.
    `launches`: sizes of some launches, the number of programs among them as `nctaid.x`, by which
    the order of programs is told (`programs.py`). `positive`: floats that surely are above zero.
    """
    given = tuple(arguments)
    try:
        function = functions_in(text).get(entry)
        if function is None or len(function.parameters) != len(given):
            raise Unreadable("no such kernel, or one with other parameters")
        plain = _read(function, given, frozenset(), positive)
        written = frozenset(plain.stores)

        def placed(body: Body) -> Lifted:
            places = tuple(Name(each) for each in reversed(THREADS))
            body = changed(body, lambda each: unplaced(each, places))
            body, tiles = _in_tiles(body, launches)
            return _with_tiles(_placed(entry, given, body, at_most or {}), tiles)

        try:
            return placed(tuple(_read(function, given, written, positive).out))
        except Unreadable:
            if plain.late or not written:
                raise
        return numbered(with_old_values(placed(tuple(plain.out)), written))
    except Unreadable as error:
        return Lifted(entry, given, (), (Opaque(str(error)),))


def _in_tiles(
    body: Body, launches: Sequence[Mapping[str, int]]
) -> tuple[Body, dict[str, Expr | None]]:
    """Statements over an axis of programs for each coordinate of a tile (`in_axes`), those of
    programs that take several tiles too."""
    if not launches:
        return body, {}
    found = a_tile_each(body, launches)
    if found is None:
        return in_axes(body, launches)
    inner, end, each = found
    made, tiles = in_axes(inner, each)
    return (made, tiles) if tiles else (under_the_end(inner, end), {})


def _with_tiles(lifted: Lifted, tiles: Mapping[str, Expr | None]) -> Lifted:
    """The lift with expressions in place of numbers of tiles. Raises Unreadable."""
    known = {name: size for name, size in tiles.items() if size is not None}
    dims = tuple(Dim(d.name, substitute(d.extent, known)) for d in lifted.dims)
    made = replace(lifted, dims=dims, body=changed(lifted.body, lambda e: substitute(e, known)))
    exprs = (*expressions_in(made.body), *(d.extent for d in dims))
    if any(name in tiles for e in exprs for name in names_in(e)):
        raise Unreadable("a number of tiles that no expression of the kernel tells")
    return made


def _read(
    function: TritonFunction,
    arguments: tuple[Argument, ...],
    written: frozenset[str],
    positive: frozenset[str],
) -> Reader:
    reader = Reader(arguments, written, HANDLERS | DESCRIPTORS, positive)
    for name, argument in zip(function.parameters, arguments, strict=True):
        pointer = Pointer(argument.name, Number(0))
        scalar = Name(argument.name, value_type(argument.dtype))
        reader.values[name] = Block(pointer if argument.array else scalar)
    try:
        body = function.body
        if body.others:
            body = Region(body.parameters, structured({"": body, **body.others}))
        reader.region(body)
    except Unreadable as error:
        reader.out.append(Opaque(str(error)))
    return reader


def _placed(
    entry: str, arguments: tuple[Argument, ...], body: Body, at_most: Mapping[str, int]
) -> Lifted:
    """The statements over parallel dimensions: places of blocks as threads, where all statements
    have the same, else as loops."""
    facts = tuple(call("le", Name(n), Number(most), dtype="bool") for n, most in at_most.items())
    block = _common_block(body)
    body = _without_places(body) if block else _as_loops(body)
    known = tuple(
        call("lt", Name(thread), Number(size), dtype="bool")
        for thread, size in zip(THREADS, block, strict=False)
    )
    lifted = Lifted(entry, arguments, (), settled(body, (*facts, *known)))
    lifted = in_space(lifted, (*block, 1, 1, 1)[:3])
    dims = tuple(call("lt", Name(d.name), d.extent, dtype="bool") for d in lifted.dims)
    lifted = replace(lifted, body=settled(lifted.body, (*facts, *dims)))
    return numbered(summed_over(covered(lifted, facts)))


def _common_block(body: Body) -> tuple[int, ...]:
    """The sizes of a block along x, y and z, where every statement is at all of its places."""
    sizes = dict[str, set[int]]()
    for each in statements_in(body):
        if isinstance(each, Each) and each.index in THREADS and isinstance(each.count, Number):
            sizes.setdefault(each.index, set()).add(int(each.count.value))
    if any(len(found) > 1 for found in sizes.values()) or not _all_at(body, len(sizes)):
        return ()
    return tuple(next(iter(sizes[thread])) for thread in THREADS[: len(sizes)])


def _all_at(body: Body, depth: int) -> bool:
    """Whether everything that is stored lies within loops over so many axes."""
    for each in body:
        inner = [each.yes, each.no] if isinstance(each, When) else []
        if isinstance(each, Each):
            inner = [each.body]
        less = isinstance(each, Each) and each.index in THREADS
        if any(not _all_at(part, depth - less) for part in inner):
            return False
        if isinstance(each, Store | Scatter | Let) and depth > 0:
            return False
    return True


def _without_places(body: Body) -> Body:
    out = list[Statement]()
    for each in body:
        if isinstance(each, Each) and each.index in THREADS:
            out += _without_places(each.body)
        elif isinstance(each, Each):
            out.append(replace(each, body=_without_places(each.body)))
        elif isinstance(each, When):
            yes, no = _without_places(each.yes), _without_places(each.no)
            out.append(replace(each, yes=yes, no=no))
        else:
            out.append(each)
    return tuple(out)


def _as_loops(body: Body) -> Body:
    """Places of blocks as loops with names of their own."""
    if any(isinstance(each, Let) for each in statements_in(body)):
        raise Unreadable("blocks of several shapes that are read again after they are written")
    out, known = list[Statement](), {name: f"q{name[-1]}" for name in THREADS}
    for each in body:
        if isinstance(each, Each):
            inner = _as_loops(each.body)
            if each.index in known:
                own: dict[str, Expr] = {each.index: Name(known[each.index])}
                inner = changed(inner, lambda e, own=own: substitute(e, own))
            index = known.get(each.index, each.index)
            out.append(replace(each, index=index, body=inner))
        elif isinstance(each, When):
            out.append(replace(each, yes=_as_loops(each.yes), no=_as_loops(each.no)))
        else:
            out.append(each)
    return tuple(out)
