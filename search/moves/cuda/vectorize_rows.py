"""One element of a grid a thread becomes a vector of each of several rows a thread."""

from __future__ import annotations

import re

from ....runners.c_source.loops import LOOPS
from ....runners.c_source.nodes import text_of, walk
from ....runners.model import Candidate
from ....runners.specs.part import Expression
from ....runners.specs.spec import KernelSpec
from ..shared.base import Move, NotApplicable, Proposals, State
from .block_shapes import most_threads, rescaled
from .parts.element_text import fewer_blocks
from .parts.lanes import Vector, interior_of, vectors_of
from .parts.reading import CudaKernel, of_each, read_kernels
from .parts.row_alignment import aligned_when
from .parts.row_tile_text import RowTiles
from .parts.row_tiles import GridElement, Sheet, grid_element, sheets_of
from .parts.sizes import count_of
from .vectorize_elementwise import SCATTERED, fits, stored_arrays

FAMILY = ((2, 0.4), (4, 0.35))
"""rows a thread, prior: above those of one row of vectors, as lines are shared. On an H200 a
5-point stencil of 8192 x 4096 floats took 0.0756 ms by vectors of one row. Such tiles, written by
hand, took 0.0704 ms with 2 rows and 0.0712 ms with 4, a copy of as many bytes 0.0720 ms"""
BLOCK = (32, 8)
"""threads along x and y: a warp's vectors are neighbours, and 8 bands of rows share lines in L1"""
WIDTHS = (16, 8)
"""bytes of a vector, the first that fits"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    return of_each(kernels, lambda kernel: _of_kernel(kernel, state.spec))


def _of_kernel(kernel: CudaKernel, spec: KernelSpec) -> list[Candidate] | NotApplicable:
    element = grid_element(kernel)
    if isinstance(element, NotApplicable):
        return element
    if any(n.type in LOOPS for s in element.inner.body for n in walk(s)):
        return NotApplicable("the work on one element is a loop")
    for axis in (element.inner, element.row):
        if count_of(axis) is None:
            bound = text_of(axis.bound)
            return NotApplicable(f"the bound `{bound}` is no product of sizes of the contract")
    interior = interior_of(element.inner)
    vectors = vectors_of(element.inner if interior is None else interior.element)
    sheets, lanes = _widest(vectors, element)
    if not any(s.is_shared for s in sheets):
        return NotApplicable("no array is read at rows beside the own one, which tiles would share")
    rests = [v.rest for s in sheets for v, _ in s.vectors]
    tests = aligned_when(rests, lanes, element.inner, spec)
    if any(re.search(rf"\b{element.row.index}\b", test) for test in tests):
        return NotApplicable("the contract leaves open which of the rows begin at whole vectors")
    names = ", ".join(dict.fromkeys(s.first.pointer.name for s in sheets))
    vectors_stored = {s.first.pointer.name for s in sheets if s.first.stored}
    scattered = bool(stored_arrays(element.inner) - vectors_stored)
    block = _block(kernel)
    return [
        Candidate(
            method=MOVE.method,
            detail=f"{kernel.function.name}: {names}: {rows} rows x {lanes} elements a thread",
            source=RowTiles(element, interior, sheets, lanes, rows, tests).source(),
            plan=kernel.plan_with(block=block, grid=_grid(kernel, block, lanes, rows)),
            prior=prior * (SCATTERED if scattered else 1),
        )
        for rows, prior in FAMILY
    ]


def _widest(vectors: tuple[Vector, ...], element: GridElement) -> tuple[tuple[Sheet, ...], int]:
    """The sheets that are moved as vectors, and how many elements a vector has."""
    for nbytes in WIDTHS:
        lanes = nbytes // max((v.pointer.itemsize for v in vectors), default=nbytes)
        fitting = [v for v in vectors if fits(v, lanes)]
        sheets = sheets_of(fitting, element.row.index)
        if lanes > 1 and any(s.is_shared for s in sheets):
            return sheets, lanes
    return (), 0


def _block(kernel: CudaKernel) -> tuple[Expression, ...]:
    """The block of tiles; that of the launch where it is no number or its limit is lower."""
    x, y, z = kernel.launch.block
    if not isinstance(x, int) or not isinstance(y, int) or z != 1:
        return kernel.launch.block
    return (*BLOCK, 1) if BLOCK[0] * BLOCK[1] <= most_threads(kernel) else kernel.launch.block


def _grid(
    kernel: CudaKernel, block: tuple[Expression, ...], lanes: int, rows: int
) -> tuple[Expression, ...]:
    """As many threads along each axis as before, so many times fewer."""
    found: list[Expression] = []
    for axis, times in enumerate((lanes, rows)):
        size, was, now = kernel.launch.grid[axis], kernel.launch.block[axis], block[axis]
        if isinstance(was, int) and isinstance(now, int):
            size = rescaled(size, was, now)
        found.append(fewer_blocks(size, times))
    return (*found, kernel.launch.grid[2])


MOVE = Move(
    id="vectorize_rows",
    method="vectorize_global_loads",
    languages=("cuda",),
    why="Where a thread does one element of a grid and reads the rows beside its own, it does a "
    "vector of each of 2 or 4 rows under each other: lines that those rows share are loaded once, "
    "all before the first store. What is at an edge or no whole tile goes element by element. Pays "
    "for stencils: a third to a half fewer loads of vectors than row by row.",
    write=_write,
)
