"""Permutations, written anew: what lies side by side along another dimension comes through a tile.

Neighbouring threads store neighbours; where they would load elements that lie far apart, a block's
tile is loaded along the dimension in which they are neighbours, and read across.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ......analysis.lift.expressions import ONE, Expr, Fold, Load, Name, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import Body, Dim, Store, changed, statements_in
from ......analysis.lift.sums import coefficient
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.domains import fits_int
from ....shared.lifted.flat import all_dims, joined
from ....shared.lifted.two_places import with_rows
from ..parts.body_text import BodyWriter, loads_in
from ..parts.c_text import TYPES, Unwritable, Writer
from ..parts.names import Names, names_for
from ..parts.plain import Plain, written_from
from ..parts.writing import parameters, plan_text, plan_with, source_with, written

METHOD = "coalesce_global_accesses"
"""of the catalogue, that the schedule is a candidate of"""
TILE, ROWS = 32, "TILE_ROWS"
"""places of a tile along each of its dimensions; rows of threads"""
KNOBS = {ROWS: (4, 8, 16, 32)}
MOST_TILES = 4


@dataclass(frozen=True)
class Turned:
    """What a kernel computes, by the two dimensions that change places."""

    across: Dim
    """its neighbours lie side by side in what is staged"""
    along: Dim
    """its neighbours lie side by side in the output"""
    others: tuple[Dim, ...]
    staged: tuple[Load, ...]
    body: Body


def turned(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: (_candidate(plain),), "permutation through tiles")


def _candidate(plain: Plain) -> Candidate:
    names = names_for(plain, (ROWS,))
    found = _read(plain, names)
    extents = [d.extent for d in (found.across, found.along, *found.others)]
    wide = not fits_int(plain, *extents)
    told = (
        f"tiles of {TILE} x {TILE} in shared memory, loaded and stored along what lies side by side"
    )
    body = "\n".join(_lines(plain, found, names, "long long" if wide else "int"))
    across, along, *others = (plan_text(e, plain) for e in extents)
    grid = [f"cdiv({across}, {TILE})", f"cdiv({along}, {TILE})", *others]
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain, told, "", parameters(plain, written(plain)), body, f"{TILE} * {ROWS}"
        ),
        plan=plan_with(plain, [" * ".join(grid)], [TILE, ROWS], defines={ROWS: 8}),
        knobs=KNOBS,
        prior=0.45,
    )


def _read(plain: Plain, names: Names) -> Turned:
    dims, body = all_dims(plain)
    dims, body = with_rows(dims, joined(body), plain, names)
    body = tuple(body)
    stores = [s for s in statements_in(body) if isinstance(s, Store)]
    if len(stores) != len(body) or not stores:
        raise Unwritable("it does more than to store values at places")
    exprs = [e for s in stores for e in (s.index, s.value)]
    if any(isinstance(each, Fold) for e in exprs for each in walk(e)):
        raise Unwritable("it folds")
    if {s.array for s in stores} & {e.array for x in exprs for e in walk(x) if isinstance(e, Load)}:
        raise Unwritable("it reads what it stores")
    along = [d for d in dims if all(_beside(s.index, d) for s in stores)]
    if len(along) != 1:
        raise Unwritable("places of no dimension lie side by side in all that it stores")
    loads = [e for e in loads_in(exprs) if not _beside(e.index, along[0])]
    for across in dims:
        staged = tuple(e for e in loads if across != along[0] and _beside(e.index, across))
        if staged and len(staged) <= MOST_TILES:
            others = tuple(d for d in dims if d not in (across, along[0]))
            return _named(Turned(across, along[0], others, staged, body), names)
    raise Unwritable("no element lies beside another along a dimension that is not the output's")


def _beside(index: Expr, dim: Dim) -> bool:
    found = coefficient(index, dim.name)
    return found is not None and found[0] == ONE


def _named(found: Turned, names: Names) -> Turned:
    """The same under names that a source may have."""
    dims = (found.across, found.along, *found.others)
    made = [Dim(names.fresh(d.name), d.extent) for d in dims]
    known: dict[str, Expr] = {d.name: Name(m.name) for d, m in zip(dims, made, strict=True)}
    staged = tuple(Load(e.array, substitute(e.index, known), e.dtype) for e in found.staged)
    body = changed(found.body, lambda each: substitute(each, known))
    return Turned(made[0], made[1], tuple(made[2:]), staged, body)


def _lines(plain: Plain, found: Turned, names: Names, index: str) -> Iterator[str]:
    dtypes = plain.dtypes
    writer = Writer({}, dtypes, wide=index != "int")
    across, along = found.across, found.along
    extent = {d: writer.text(d.extent, inside=True) for d in (across, along, *found.others)}
    tiles = {e: names.fresh("tile") for e in found.staged}
    first, second, n = (
        names.fresh(w) for w in (f"{across.name}_begin", f"{along.name}_begin", "n")
    )
    many, count = names.fresh("tiles_across"), names.fresh("tiles_along")
    for load, tile in tiles.items():
        # one element more a row, so that a column lies in all banks
        yield f"    __shared__ {TYPES[dtypes[load.array]]} {tile}[{TILE}][{TILE} + 1];"
    yield f"    const {index} {many} = ({extent[across]} + {TILE} - 1) / {TILE};"
    if found.others:
        yield f"    const {index} {count} = ({extent[along]} + {TILE} - 1) / {TILE};"
    yield f"    const {index} {first} = blockIdx.x % {many} * {TILE};"
    by = f" % {count}" if found.others else ""
    yield f"    const {index} {second} = blockIdx.x / {many}{by} * {TILE};"
    left = f"blockIdx.x / {many} / {count}"
    for at, dim in enumerate(reversed(found.others)):
        last = at == len(found.others) - 1
        yield f"    const {index} {dim.name} = {left}{'' if last else f' % {extent[dim]}'};"
        left = f"{left} / {extent[dim]}"

    def places(x: Dim, x_begin: str, y: Dim, y_begin: str) -> Iterator[str]:
        yield "#pragma unroll"
        yield f"    for (int {n} = threadIdx.y; {n} < {TILE}; {n} += {ROWS}) {{"
        yield (
            f"        const {index} {x.name} = {x_begin} + (int)threadIdx.x, "
            f"{y.name} = {y_begin} + {n};"
        )
        yield f"        if ({x.name} < {extent[x]} && {y.name} < {extent[y]}) {{"

    yield from places(across, first, along, second)
    for load, tile in tiles.items():
        yield f"            {tile}[{n}][threadIdx.x] = {load.array}[{writer.text(load.index)}];"
    yield from ("        }", "    }", "    __syncthreads();")
    yield from places(along, second, across, first)
    writer.load = lambda load: f"{tiles[load]}[threadIdx.x][{n}]" if load in tiles else None
    yield from BodyWriter(writer, names, index).lines(found.body, "            ")
    yield from ("        }", "    }")
