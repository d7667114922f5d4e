"""A part of one row a program becomes a tile of neighbouring rows, columns first in the grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.source import read
from .parts.tile_copies import TileCopies, no_tile
from .rows_of_vectors import columns_fastest
from .several_rows import Neighbours, declared_block, neighbours


@dataclass(frozen=True)
class Shape:
    """Rows, columns, prior."""

    rows: int
    columns: int
    prior: float


SHAPES = Shape(4, 512, 0.36), Shape(8, 256, 0.25), Shape(2, 1024, 0.15)
"""16 elements a thread of 4 warps: 4 vectors of 4 floats. The first was 14 % faster than several
rows by scalars on an H200, for a stencil of 8192 x 4096 floats"""


def _write(state: State) -> Proposals:
    found = neighbours(state)
    if isinstance(found, NotApplicable):
        return found
    if (why := no_tile(found.rows)) is not None:
        return NotApplicable(why)
    block = declared_block(found)
    return tuple(_family(state, found, block))


def _family(state: State, found: Neighbours, block: str | None) -> Iterator[Candidate]:
    """With as many columns as the shape has, where the spec lets that be set."""
    for shape in SHAPES:
        source = _source(state, found, shape.rows)
        if read(source) is None:
            continue
        known = () if block is None else state.spec.parameters[block].values
        now = None if block is None else state.assignment[block]
        wanted = {block: shape.columns} if block and shape.columns in known else {}
        told = f"tiles of {shape.rows} rows"
        sizes = ", ".join(f"{n} = {v}" for n, v in wanted.items())
        yield Candidate(
            method=MOVE.method,
            detail=f"{told}, {sizes}" if sizes else told,
            source=source,
            parameters={n: v for n, v in wanted.items() if v != now} or None,
            prior=shape.prior if wanted else shape.prior / 2,
        )


def _source(state: State, found: Neighbours, tall: int) -> str:
    rows, launch = found.rows, found.launch
    source, body = rows.kernel.source, rows.kernel.body
    sizes = [source.text(e) for e in launch.grid]
    sizes[rows.axis] = f"triton.cdiv({sizes[rows.axis]}, {tall})"
    tiled = source.edited(
        [
            source.before(body[0], *TileCopies(rows, 1, tall).lines()),
            *source.delete_lines(body[0], body[-1]),
            launch.regridded(*sizes),
        ]
    )
    return columns_fastest(replace(state, source=tiled), found, tall)


MOVE = Move(
    id="tiles_of_rows",
    method="change_block_sizes",
    languages=("triton",),
    why="A program does a tile of 4, 8 or 2 neighbouring rows, and programs side by side run at "
    "once: what one row loads of another comes from the cache, and loads that the ends of a row "
    "kept from being vectors are made of vectors. Pays for stencils; shorter to read than the same "
    "rows one by one.",
    write=_write,
)
