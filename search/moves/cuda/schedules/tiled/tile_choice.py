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
    """share of the multiply-adds that a multiprocessor could do, when it has its fill of blocks"""
    parts: int = 1
    """blocks that share the sums of a tile"""

    def __str__(self) -> str:
        shared = f", {self.parts} of them a tile" if self.parts > 1 else ""
        return (
            f"tiles of {self.rows} x {self.columns} x {self.depth}, {self.rows_a_thread} x "
            f"{self.columns_a_thread} a thread, {self.blocks} blocks at once{shared}"
        )


TILES = (
    Tiles(128, 128, 16, 8, 8, 1, 0.75),
    Tiles(128, 64, 16, 8, 8, 2, 0.69),
    Tiles(64, 64, 16, 8, 4, 4, 0.67),
    Tiles(128, 256, 8, 8, 16, 1, 0.81),
)
"""rates as those that `benchmarks/products.py` calls seen took on an H200"""
PARTS = (1, 2, 3, 4, 6, 8, 12, 16)
MOST = 3
"""candidates of a kernel: those of which the least time is expected"""
SHARED_BYTES, FLOAT_BYTES, LEAST_DEPTH = 48 << 10, 4, 8
STEPS_A_CLOCK = 128
"""multiply-adds of a multiprocessor"""
WAITING_CLOCKS = 400
"""for its next loads, of a block that has a multiprocessor for itself which has room for more; of
two the half"""
ENDS_CLOCKS = 6000 / (128 * 128)
"""a place of a tile, before the first step and behind the last one, while no other block works"""
JOINING_CLOCKS, JOINED_BYTES_A_CLOCK = 3000, 2600
"""of a second launch: what it takes beside its work, and what it moves through L2"""


def chosen_tiles(plain: Plain, found: Contraction) -> list[tuple[Tiles, float]]:
    """Tiles by the time that they are expected to take for the visible workloads, the least first,
    and that time over theirs. What counts: that no multiprocessor waits for another one's last
    tiles, and how well a tile's own loop runs. Raises Unwritable for an unknown device."""
    sizes, many = workload_sizes(found, plain), multiprocessors(plain.spec)
    times = dict[Tiles, float]()
    for tiles in _that_fit(found):
        shared = [replace(tiles, parts=n) for n in (PARTS if sizes else PARTS[:1])]
        clocks = {each: sum(_clocks(each, s, many) for s in sizes) or 1.0 for each in shared}
        best = min(clocks, key=lambda each: clocks[each])
        times[best] = clocks[best]
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
    area = tiles.rows * tiles.columns
    blocks = busiest_area(sizes, (tiles.rows, tiles.columns), many, tiles.parts) // area
    step = area * tiles.depth / STEPS_A_CLOCK / tiles.rate
    last = blocks % tiles.blocks  # those that do not fill it
    waits = WAITING_CLOCKS / last if last else 0
    steps = ceil(depth / tiles.parts / tiles.depth)
    clocks = steps * (blocks * step + waits) + blocks * area * ENDS_CLOCKS / tiles.blocks
    if tiles.parts == 1:
        return clocks
    joined = prod(places) * FLOAT_BYTES * (2 * tiles.parts + 1)
    return clocks + JOINING_CLOCKS + joined / JOINED_BYTES_A_CLOCK
