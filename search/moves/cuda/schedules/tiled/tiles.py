"""Contractions, written anew: tiles in shared memory, a part of the output in a thread's registers.

A thread keeps `PER_M` x `PER_N` folds and reads `PER_M + PER_N` values for a step of each; the next
tiles come from memory while it computes on these. Every fold goes along k in the kernel's order;
where there are fewer tiles than multiprocessors and sums are long, blocks share them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ......analysis.lift.expressions import Number
from ......analysis.lift.sums import product
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.contraction import begun_with_nothing, contraction
from ....shared.lifted.domains import fits_int, workload_values
from ..parts.c_text import Unwritable
from ..parts.names import names_for
from ..parts.plain import Plain, written_from
from ..parts.writing import plan_text, plan_with, source_with
from .old_values import with_old_values
from .tile_choice import PARTS as MANY_PARTS
from .tile_choice import Tiles, chosen_tiles
from .tile_parts import PARTS, Parts
from .tile_text import TileText

METHOD = "register_tiling"
"""of the catalogue, that the schedule is a candidate of"""
OWN = ("TILE_M", "TILE_N", "TILE_K", "PER_M", "PER_N", "MIN_BLOCKS")
THREADS = "(TILE_M / PER_M) * (TILE_N / PER_N)"
LEAST, MANY = 16, 128
"""rows and columns below which a tile is mostly empty; from which on tiles pay before all else"""


def tiles(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda p: _candidates(with_old_values(p)), "contraction in tiles")


def _candidates(plain: Plain) -> tuple[Candidate, ...]:
    names = names_for(plain, (*OWN, PARTS))
    found = contraction(plain, names)
    sizes_seen = [s for d in (found.rows, found.columns) for s in workload_values(d.extent, plain)]
    least = min(sizes_seen, default=MANY)
    if least < LEAST:
        raise Unwritable(f"the output has fewer than {LEAST} rows or columns")
    weight = 0.48 if least >= MANY else 0.3
    choices = chosen_tiles(plain, found)
    made = {parts: _written(plain, parts) for parts in {tiles.parts > 1 for tiles, _ in choices}}
    return tuple(
        Candidate(
            method=METHOD,
            detail=f"written from what it computes: {tiles}",
            source=made[tiles.parts > 1].source,
            plan=made[tiles.parts > 1].plan(tiles),
            prior=weight * share,
        )
        for tiles, share in choices
    )


@dataclass(frozen=True)
class _Written:
    """A source with its launches."""

    plain: Plain
    source: str
    grid: list[str]
    parts: Parts | None

    def plan(self, tiles: Tiles) -> dict[str, Any]:
        """With the sizes that it is built for."""
        sizes = (
            tiles.rows, tiles.columns, tiles.depth, tiles.rows_a_thread, tiles.columns_a_thread,
            tiles.blocks,
        )  # fmt: skip
        defines: dict[str, int] = dict(zip(OWN, sizes, strict=True))
        block = [THREADS.replace("/", "//")]
        if self.parts is None:
            return plan_with(self.plain, self.grid, block, defines=defines)
        made = plan_with(
            self.plain,
            [*self.grid, PARTS],
            block,
            defines={**defines, PARTS: tiles.parts},
            extra=[self.parts.buffer],
            buffers=self.parts.buffers(),
        )
        return self.parts.with_second(made)


def _written(plain: Plain, shared: bool) -> _Written:
    """The source, and its launches; `shared`: whether blocks share the sums of a tile."""
    names = names_for(plain, (*OWN, PARTS))
    found = begun_with_nothing(contraction(plain, names))
    extents = [d.extent for d in (found.rows, found.columns, *found.others)]
    most = product(*extents, Number(MANY_PARTS[-1] if shared else 1))
    wide = not fits_int(plain, *extents, found.reduction.columns, most)
    index = "long long" if wide else "int"
    parts = Parts(plain, found, names, index) if shared else None
    text = TileText(plain, found, names, index, parts)
    told = "tiles in shared memory, a part of the output in a thread's registers"
    source = source_with(
        plain,
        f"{told}; {PARTS} blocks share a tile's sums" if shared else told,
        "\n\n".join(each for each in (text.prelude(), parts.second() if parts else "") if each),
        text.parameters(),
        text.kernel(),
        f"{THREADS}, MIN_BLOCKS",
    )
    m, n, *others = (plan_text(e, plain) for e in extents)
    grid = " * ".join([f"cdiv({m}, TILE_M)", f"cdiv({n}, TILE_N)", *others])
    return _Written(plain, source, [grid], parts)
