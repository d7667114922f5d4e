"""Contractions, written anew: tiles in shared memory, a part of the output in a thread's registers.

A thread keeps `PER_M` x `PER_N` folds and reads `PER_M + PER_N` values for a step of each; the next
tiles come from memory while it computes on these. Every fold goes along k in the kernel's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from math import ceil, prod

from ......analysis.lift.expressions import Expr
from ......runners.errors import SpecError
from ......runners.model import Candidate
from ......runners.specs.devices import device_for
from ....shared.base import Proposals, State
from ....shared.lifted.contraction import Contraction, contraction
from ....shared.lifted.domains import fits_int, workload_values
from ..parts.c_text import Unwritable
from ..parts.names import names_for
from ..parts.plain import Plain, written_from
from ..parts.writing import parameters, plan_text, plan_with, source_with, written
from .tile_text import TileText

METHOD = "register_tiling"
"""of the catalogue, that the schedule is a candidate of"""


@dataclass(frozen=True)
class Tiles:
    """Of a block, and what a thread has of them."""

    rows: int
    columns: int
    depth: int
    rows_a_thread: int
    columns_a_thread: int
    blocks: int
    """that a multiprocessor has room for"""
    rate: float
    """share of a multiprocessor's arithmetic, when it has its fill of them"""


TILES = (
    Tiles(128, 128, 16, 8, 8, 1, 1.0),
    Tiles(128, 64, 16, 8, 8, 2, 0.95),
    Tiles(64, 64, 16, 8, 4, 4, 0.85),
    Tiles(128, 256, 8, 8, 16, 1, 1.0),
)
SHARED_BYTES, FLOAT_BYTES, LEAST_DEPTH = 48 << 10, 4, 8
MOST = 3
"""candidates of a kernel: those of which the least time is expected"""
OWN = ("TILE_M", "TILE_N", "TILE_K", "PER_M", "PER_N", "MIN_BLOCKS")
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
    weight = 0.48 if least >= MANY else 0.3
    extents = [d.extent for d in (found.rows, found.columns, *found.others)]
    wide = not fits_int(plain, *extents, found.reduction.columns)
    text = TileText(plain, found, names, "long long" if wide else "int")
    source = source_with(
        plain,
        "tiles in shared memory, a part of the output in a thread's registers",
        text.prelude(),
        parameters(plain, written(plain)),
        text.kernel(),
        f"{THREADS}, MIN_BLOCKS",
    )
    m, n, *others = (plan_text(e, plain) for e in extents)
    grid = " * ".join([f"cdiv({m}, TILE_M)", f"cdiv({n}, TILE_N)", *others])
    return tuple(
        Candidate(
            method=METHOD,
            detail=f"written from what it computes: tiles of {each.rows} x {each.columns} x "
            f"{each.depth}, {each.rows_a_thread} x {each.columns_a_thread} a thread, {each.blocks} "
            "blocks at once",
            source=source,
            plan=plan_with(
                plain,
                [grid],
                [THREADS.replace("/", "//")],
                defines=dict(zip(OWN, astuple(each), strict=False)),
            ),
            prior=weight * share,
        )
        for each, share in _by_time(plain, extents, _that_fit(found))
    )


def _that_fit(found: Contraction) -> list[Tiles]:
    """Those that a block has shared memory for, twice, without asking; some less deep for it."""
    made = list[Tiles]()
    for each in TILES:
        row = len(found.left) * (each.rows + 4) + len(found.right) * (each.columns + 4)
        deepest = SHARED_BYTES // (2 * FLOAT_BYTES * row)
        if deepest >= LEAST_DEPTH:
            made.append(each if deepest >= each.depth else replace(each, depth=LEAST_DEPTH))
    return made


def _by_time(
    plain: Plain, extents: Sequence[Expr], fitting: Sequence[Tiles]
) -> list[tuple[Tiles, float]]:
    """Tiles by the time that they are expected to take for the visible workloads, and the least
    time over theirs. What counts: that no multiprocessor waits for another one's last tiles, and
    how well a tile's own loop runs."""
    # none, where a size of a workload is not known
    sizes = list(zip(*(workload_values(each, plain) for each in extents), strict=False))
    try:
        many = device_for(plain.spec.device_profile, ()).sm_count
    except SpecError as error:
        raise Unwritable(error.message) from error
    times = {each: sum(_time(each, s, many) for s in sizes) or 1.0 for each in fitting}
    best = sorted(times, key=lambda each: times[each])[:MOST]
    return [(each, times[best[0]] / times[each]) for each in best]


def _time(tiles: Tiles, sizes: Sequence[int], multiprocessors: int) -> float:
    """In tiles' elements, of the busiest multiprocessor, as if its loop lost nothing."""
    rows, columns, *others = sizes
    count = ceil(rows / tiles.rows) * ceil(columns / tiles.columns) * prod(others)
    return ceil(count / multiprocessors) * tiles.rows * tiles.columns / tiles.rate
