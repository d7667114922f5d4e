"""Kernels of one element of a grid a thread, as tiles of neighbouring elements of several rows.

An element reads lines of an array: `p[rest + i]`, where `rest` grows by one pitch from row to row.
Loads that are whole pitches apart are lines of one sheet. Rows of a tile share them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import single_declaration
from ...shared.affine import Form
from ...shared.base import NotApplicable
from .expressions import built_ins
from .lanes import HALO, Vector
from .per_element import PerElement, per_element
from .reading import CudaKernel

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class GridElement:
    """A kernel in which a thread does one element of a row and a column."""

    inner: PerElement
    """along x. The work on one element has all that depends on the row or the column; of the
    guards, those that depend on neither are left"""
    row: PerElement
    """along y"""


@dataclass(frozen=True)
class Sheet:
    """What the rows of a tile load or store of one array: lines, a pitch apart."""

    vectors: tuple[tuple[Vector, int], ...]
    """each with its line, seen from the first one that the first row of the tile needs"""
    pitch: Form
    """elements from one row's to the next's; 0: all rows have the same"""

    @property
    def first(self) -> Vector:
        """The vector at line 0."""
        return next(v for v, line in self.vectors if line == 0)

    @property
    def is_shared(self) -> bool:
        """Whether a row reads lines of other rows."""
        return len(self.vectors) > 1

    def places(self, lanes: int) -> tuple[int, ...]:
        """Places beside a vector of so many elements, which starts at 0, that some line needs."""
        shifts = [s for v, _ in self.vectors for s in v.shifts]
        near = range(min(0, *shifts, 0), lanes + max(0, *shifts, 0))
        return tuple(p for p in near if not 0 <= p < lanes and self.lines(1, lanes, p))

    def line(self, row: int, line: int) -> int:
        """The line that a row of the tile sees as `line`."""
        return row + line if self.pitch != Form() else line

    def lines(self, rows: int, lanes: int, place: int | None = None) -> tuple[range, ...]:
        """The lines of which a tile of so many rows needs a place beside the vector, or (None) the
        vector."""
        own = {
            line
            for v, line in self.vectors
            if place is None or any(0 <= place - s < lanes for s in v.shifts)
        }
        return _runs({self.line(row, line) for row in range(rows) for line in own})

    def count(self, rows: int) -> int:
        """How many lines a tile of so many rows spans."""
        return 1 + self.line(rows - 1, max(line for _, line in self.vectors))


def _runs(lines: Iterable[int]) -> tuple[range, ...]:
    """Numbers as ranges without gaps."""
    found: list[range] = []
    for line in sorted(lines):
        if found and found[-1].stop == line:
            found[-1] = range(found[-1].start, line + 1)
        else:
            found.append(range(line, line + 1))
    return tuple(found)


def grid_element(kernel: CudaKernel) -> GridElement | NotApplicable:
    """The kernel taken apart along x and y at once, or what is in the way."""
    inner, row = per_element(kernel), per_element(kernel, "y")
    if isinstance(inner, NotApplicable):
        return inner
    if isinstance(row, NotApplicable):
        return row
    if inner.items or inner.looped or inner.work != row.work:
        return NotApplicable("not one guard for both the row and the column of an element")
    sizes = _launch_sizes(inner, row)
    if sizes:
        return NotApplicable(f"the work on one element uses {min(sizes)}, which tiles change")
    body = _in_order(*inner.body, *row.body)
    gone = _in_order(*inner.gone, *row.gone)
    numbers = [n for n in row.gone if (single_declaration(n) or ("",))[0] == row.index]
    kept = [n for n in inner.before if n not in gone]
    merged = replace(
        inner,
        # the number of the row is one for all elements of a vector
        before=_in_order(*kept, *numbers),
        guards=tuple(g for g in inner.guards if g in row.guards),
        body=body,
        gone=gone,
    )
    return GridElement(merged, row)


def _launch_sizes(inner: PerElement, row: PerElement) -> frozenset[str]:
    """Sizes of blocks and grids on which more than the number of an element depends."""
    starts = {n: v for n, v in inner.known.starts.items() if n not in (inner.index, row.index)}
    nodes = (*inner.body, *row.body, *inner.guards, *row.guards)
    used = frozenset[str]().union(*(built_ins(n, starts) for n in nodes))
    return used & {f"{of}.{axis}" for of in ("blockDim", "gridDim") for axis in "xy"}


def _in_order(*nodes: Node) -> tuple[Node, ...]:
    """Each node once, as they stand in the source."""
    return tuple({n.start_byte: n for n in sorted(nodes, key=lambda n: n.start_byte)}.values())


def sheets_of(vectors: Iterable[Vector], row: str) -> tuple[Sheet, ...]:
    """Vectors as lines of sheets, `row` being the number of the row; what is none is left out."""
    sheets: list[Sheet] = []
    for vector in vectors:
        pitch = vector.rest.coefficient(row)
        if vector.modulo is not None or pitch is None or row in pitch.names:
            continue
        if pitch == Form() and vector.stored:  # all rows would store to the same elements
            continue
        for number, sheet in enumerate(sheets):
            joined = _joined(sheet, vector, pitch)
            if joined is not None:
                sheets[number] = joined
                break
        else:
            sheets.append(Sheet(((vector, 0),), pitch))
    return tuple(sheets)


def _joined(sheet: Sheet, vector: Vector, pitch: Form) -> Sheet | None:
    """The sheet with one more vector, where that is whole pitches away."""
    if sheet.pitch != pitch or sheet.first.pointer != vector.pointer or pitch == Form():
        return None
    away = _times(vector.rest - sheet.first.rest, pitch)
    if away is None:
        return None
    lines = [*sheet.vectors, (vector, away)]
    lowest = min(line for _, line in lines)
    if max(line for _, line in lines) - lowest > 2 * HALO:
        return None
    return Sheet(tuple((v, line - lowest) for v, line in lines), pitch)


def _times(form: Form, pitch: Form) -> int | None:
    """How many pitches a form is."""
    if not form.terms:
        return 0
    times = form.terms[0][1] // pitch.terms[0][1]
    return times if Form.number(times) * pitch == form else None
