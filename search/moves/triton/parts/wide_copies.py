"""Rows above and below those of a program, loaded as the programs of these rows load them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from ...shared.affine import Form
from .masks import follow
from .nodes import walk
from .row_copies import Copies, Place
from .rows import Load
from .source import names_in
from .texts import primary

REACH = 4
"""rows beyond those of a program that a load is looked for in: wider stencils are rare"""


@dataclass(frozen=True)
class WideCopies(Copies):
    """Copies in which a mask that the first or last lanes of a block end gives way to a wider one.

    A mask such as `col > 0` keeps a load from being made of vectors. Where the program of the row
    that is loaded loads the same elements itself under a mask that is the same in all rows, that
    mask serves here as well, within the rows: no element is touched that the kernel did not touch.
    """

    @cached_property
    def _wider(self) -> dict[Place, str]:
        """New masks of loads that are made."""
        made = {kept[0] for kept in self._kept.values()}
        found = {place: self._beyond(place) for place in made}
        return {place: mask for place, mask in found.items() if mask is not None}

    def _beyond(self, made: Place) -> str | None:
        """The mask that another row's program gives a load that is made; None: no wider one."""
        many, own = self.many, self.rows.loads[made[0]]
        if own.address is None:
            return None
        here = self.rows.of_row(own.address, made[1], many)
        for load in self.rows.loads:
            if load.address is None or own.options != load.options or not self._is_shared(load):
                continue
            for row in (*range(-1, -REACH - 1, -1), *range(many, many + REACH)):
                same = self.rows.of_row(load.address, row, many) == here
                if same and self._holds(load, row, made):
                    return self._within(load, row)
        return None

    def _is_shared(self, load: Load) -> bool:
        """Whether all rows share the mask of a load."""
        return load.mask is None or not self._varies(load.mask)

    def _varies(self, node: ast.expr) -> bool:
        rows = self.rows
        return bool(names_in(node) & rows.varying) or any(n in rows.calls for n in walk(node))

    def _holds(self, load: Load, row: int, made: Place) -> bool:
        """Whether the wider mask holds wherever one of the masks does that it replaces."""
        told = tuple(None if b is None else b[1] - b[0] for b in load.bounds)
        wider = (*told, *self._guards(row))
        return all(follow(wider, self._conditions(p)) for p in self._kept[made])

    def _guards(self, row: int) -> tuple[Form, ...]:
        """What is at least 1 where a row beyond those of the program is one of the array."""
        number = self.rows.of_row(Form.name(self.rows.number), row, self.many)
        return (number + Form.number(1) if row < 0 else self._inside(row),)

    def _within(self, load: Load, row: int) -> str:
        """The first row of a program is one of the array: those above it end at its first."""
        end = f"{self._row} + {row} < {primary(self.rows.count)}"
        guard = f"{self._row} >= {-row}" if row < 0 else end
        return guard if load.mask is None else f"{primary(self._text(load.mask, 0))} & ({guard})"

    def _load_text(self, made: Place) -> str:
        mask = self._wider.get(made)
        if mask is None:
            return super()._load_text(made)
        return self._masked(self.rows.loads[made[0]].call, made[1], mask)

    def _selects(self, place: Place) -> bool:
        load = self.rows.loads[place[0]]
        fills = load.other is not None and load.mask is not None
        return super()._selects(place) or (fills and self._kept[place][0] in self._wider)
