"""Which tiles a contraction is written in: by the shapes of the workloads and the device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from ....shared.lifted.contraction import Contraction
from ....shared.lifted.waves import Sizes, busiest_area, multiprocessors, workload_sizes
from ..parts.plain import Plain


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
    parts: int = 1
    """blocks that share the sums of a tile"""

    def __str__(self) -> str:
        shared = f", {self.parts} of them a tile" if self.parts > 1 else ""
        return (
            f"tiles of {self.rows} x {self.columns} x {self.depth}, {self.rows_a_thread} x "
            f"{self.columns_a_thread} a thread, {self.blocks} blocks at once{shared}"
        )


TILES = (
    Tiles(128, 128, 16, 8, 8, 1, 1.0),
    Tiles(128, 64, 16, 8, 8, 2, 0.95),
    Tiles(64, 64, 16, 8, 4, 4, 0.85),
    Tiles(128, 256, 8, 8, 16, 1, 1.0),
)
PARTS = (1, 2, 4, 8, 16)
MOST = 3
"""candidates of a kernel: those of which the least time is expected"""
SHARED_BYTES, FLOAT_BYTES, LEAST_DEPTH = 48 << 10, 4, 8
STEPS_A_CLOCK = 128
"""multiply-adds of a multiprocessor"""
JOINING_CLOCKS, JOINED_BYTES_A_CLOCK = 6000, 2000
"""of a second launch: what it takes beside its work, and what it moves through L2"""


def chosen_tiles(plain: Plain, found: Contraction) -> list[tuple[Tiles, float]]:
    """Tiles by the time that they are expected to take for the visible workloads, the least first,
    and that time over theirs. What counts: that no multiprocessor waits for another one's last
    tiles, and how well a tile's own loop runs. Raises Unwritable for an unknown device."""
    sizes, many = workload_sizes(found, plain), multiprocessors(plain.spec)
    parts = PARTS if sizes else (1,)
    times = {
        (each := replace(tiles, parts=n)): sum(_clocks(each, s, many) for s in sizes) or 1.0
        for tiles in _that_fit(found)
        for n in parts
    }
    best = sorted(times, key=lambda each: times[each])[:MOST]
    return [(each, times[best[0]] / times[each]) for each in best]


def _that_fit(found: Contraction) -> list[Tiles]:
    """Those that a block has shared memory for, twice, without asking; some less deep for it."""
    made = list[Tiles]()
    for each in TILES:
        row = len(found.left) * (each.rows + 4) + len(found.right) * (each.columns + 4)
        deepest = SHARED_BYTES // (2 * FLOAT_BYTES * row)
        if deepest >= LEAST_DEPTH:
            made.append(each if deepest >= each.depth else replace(each, depth=LEAST_DEPTH))
    return made


def _clocks(tiles: Tiles, sizes: Sizes, many: int) -> float:
    """Of the busiest of so many multiprocessors, and of joining the parts of sums."""
    depth, *places = sizes
    steps = ceil(depth / tiles.parts / tiles.depth) * tiles.depth
    area = busiest_area(sizes, (tiles.rows, tiles.columns), many, tiles.parts)
    clocks = area * steps / STEPS_A_CLOCK / tiles.rate
    if tiles.parts == 1:
        return clocks
    joined = prod(places) * FLOAT_BYTES * (2 * tiles.parts + 1)
    return clocks + JOINING_CLOCKS + joined / JOINED_BYTES_A_CLOCK
