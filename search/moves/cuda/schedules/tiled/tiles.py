"""Contractions, written anew: tiles in shared memory, a part of the output in a thread's registers.

A thread keeps `PER_M` x `PER_N` folds and reads `PER_M + PER_N` values for a step of each; the next
tiles come from memory while it computes on these. Every fold goes along k in the kernel's order.
"""

from __future__ import annotations

from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.contraction import contraction
from ....shared.lifted.domains import fits_int, workload_values
from ..parts.c_text import Unwritable
from ..parts.names import names_for
from ..parts.plain import Plain, written_from
from ..parts.writing import parameters, plan_text, plan_with, source_with, written
from .tile_text import TileText

METHOD = "register_tiling"
"""of the catalogue, that the schedule is a candidate of"""
TILES = (
    (128, 128, 8, 8, 8, 2, 0.3),
    (64, 64, 16, 4, 4, 4, 0.25),
    (128, 64, 8, 8, 4, 3, 0.2),
)
"""rows, columns and depth of a block's tiles, rows and columns of a thread, blocks that a
multiprocessor has room for, prior"""
OWN = ("TILE_M", "TILE_N", "TILE_K", "PER_M", "PER_N", "MIN_BLOCKS")
KNOBS = {"TILE_K": (8, 16)}
"""deeper ones, twice, are more than the shared memory that a kernel has without asking"""
THREADS = "(TILE_M / PER_M) * (TILE_N / PER_N)"
LEAST, MANY = 16, 128
"""rows and columns below which a tile is mostly empty; from which on tiles pay before all else"""


def tiles(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, _candidates, "contraction in tiles")


def _candidates(plain: Plain) -> tuple[Candidate, ...]:
    names = names_for(plain, OWN)
    found = contraction(plain, names)
    sizes_seen = [s for d in (found.rows, found.columns) for s in workload_values(d.extent, plain)]
    least = min(sizes_seen, default=MANY)
    if least < LEAST:
        raise Unwritable(f"the output has fewer than {LEAST} rows or columns")
    weight = 1.6 if least >= MANY else 1.0
    extents = [d.extent for d in (found.rows, found.columns, *found.others)]
    wide = not fits_int(plain, *extents, found.reduction.columns)
    source = source_with(
        plain,
        "tiles in shared memory, a part of the output in a thread's registers",
        "",
        parameters(plain, written(plain)),
        TileText(plain, found, names, "long long" if wide else "int").kernel(),
        f"{THREADS}, MIN_BLOCKS",
    )
    m, n, *others = (plan_text(e, plain) for e in extents)
    grid = " * ".join([f"cdiv({m}, TILE_M)", f"cdiv({n}, TILE_N)", *others])
    return tuple(
        Candidate(
            method=METHOD,
            detail=f"written from what it computes: tiles of {sizes[0]} x {sizes[1]} x {sizes[2]}, "
            f"{sizes[3]} x {sizes[4]} a thread, {sizes[5]} blocks at once",
            source=source,
            plan=plan_with(
                plain,
                [grid],
                [THREADS.replace("/", "//")],
                defines=dict(zip(OWN, sizes, strict=True)),
            ),
            knobs=KNOBS if len(found.left) + len(found.right) == 2 else {},
            prior=weight * prior,
        )
        for *sizes, prior in TILES
    )
