"""Stencils along rows: every load but the ends of its quads is made of vectors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.arguments import Arguments
from .parts.kernels import kernel_of, launch_of
from .parts.nodes import walk
from .parts.rows import Rows
from .parts.shifted_loads import QUAD, Shifts
from .parts.source import argument, is_call
from .parts.values import Values
from .parts.wide_copies import WideCopies
from .several_rows import WARP, WARPS, Neighbours, declared_block, neighbours, with_copies

MOST_ALONG_Y = 65535
"""programs along the second axis of a grid, as CUDA has it"""


@dataclass(frozen=True)
class Shape:
    """Rows a program; warps, None: as they are; prior."""

    rows: int
    warps: int | None
    prior: float


SHAPES = Shape(8, None, 0.45), Shape(4, None, 0.4), Shape(4, 8, 0.2)
"""on an H200 all three copied a stencil of 8192 x 4096 floats within 1 % of each other"""


def _write(state: State) -> Proposals:
    found = neighbours(state)
    if isinstance(found, NotApplicable):
        return found
    block = declared_block(found)
    if block is None or min(state.spec.parameters[block].values) < QUAD:
        return NotApplicable(f"no parameter of the spec gives it blocks of {QUAD} elements or more")
    row = _uneven(found)
    if row is not None:
        return NotApplicable(f"rows of `{row}` elements do not begin at whole vectors")
    candidates = tuple(_family(state, found, block))
    return candidates or NotApplicable("no load is one element beside another one")


def _uneven(found: Neighbours) -> str | None:
    """A size between rows that is no multiple of a quad in any workload that is measured."""
    for load in found.rows.loads:
        step = None if load.address is None else load.address.coefficient(found.rows.number)
        for name in () if step is None else step.names:
            known = found.arguments.symbol(name)
            sizes = () if known is None else found.arguments.sizes(known[2])
            if sizes and all(size % QUAD for size in sizes):
                return name
    return None


def _family(state: State, found: Neighbours, block: str) -> Iterator[Candidate]:
    for shape in SHAPES:
        source = _source(state, found, shape.rows)
        parameters = _parameters(state, block, shape)
        if source is None or parameters is None:
            continue
        sizes = ", ".join(f"{n} = {v}" for n, v in parameters.items())
        told = f"{shape.rows} rows a program, loaded as vectors of {QUAD}"
        yield Candidate(
            method=MOVE.method,
            detail=f"{told}, {sizes}" if sizes else told,
            source=source,
            parameters=parameters or None,
            prior=shape.prior,
        )


def _parameters(state: State, block: str, shape: Shape) -> dict[str, int] | None:
    """A quad a thread, where that can be set; None: the warps cannot, or are so already."""
    now = state.assignment
    known = {n: p.values for n, p in state.spec.parameters.items()}
    warps = now.get("num_warps", WARPS)
    if shape.warps is not None:
        if warps == shape.warps or shape.warps not in known.get("num_warps", ()):
            return None
        warps = shape.warps
    wanted = {block: WARP * QUAD * warps}
    if shape.warps is not None:
        wanted["num_warps"] = warps
    return {n: v for n, v in wanted.items() if v in known[n] and v != now[n]}


def _source(state: State, found: Neighbours, many: int) -> str | None:
    """Rows are copied, then loads beside others made of those; None: there are none."""
    copied = replace(state, source=with_copies(found.launch, WideCopies(found.rows, many)))
    kernel = kernel_of(copied)
    if isinstance(kernel, NotApplicable):
        return None
    shifts = Shifts(Rows(kernel, Values(kernel), found.rows.axis, found.rows.count))
    if not shifts.found:
        return None
    return columns_fastest(replace(state, source=shifts.source()), found, many)


def columns_fastest(state: State, found: Neighbours, many: int) -> str:
    """With the rows along the second axis of the grid, where they are along the first of two.

    Programs that run at once then read neighbouring memory. The second axis has an end.
    """
    kernel = kernel_of(state)
    if isinstance(kernel, NotApplicable):
        return state.source
    launch = launch_of(state, kernel)
    if isinstance(launch, NotApplicable) or found.rows.axis != 0 or len(launch.grid) != 2:
        return state.source
    if not _few(found.arguments, found.rows.count, many):
        return state.source
    source, edits = kernel.source, list[tuple[ast.expr, str]]()
    for node in walk(kernel.function):
        if isinstance(node, ast.Call) and is_call(node, "program_id", "num_programs"):
            axis = argument(node, 0, "axis")
            if not isinstance(axis, ast.Constant) or axis.value not in (0, 1):
                return state.source
            edits.append((axis, "1" if axis.value == 0 else "0"))
    rows, columns = (source.text(e) for e in launch.grid)
    swapped = [source.replace(node, text) for node, text in edits]
    return source.edited([*swapped, launch.regridded(columns, rows)])


def _few(arguments: Arguments, count: str, many: int) -> bool:
    """Whether the rows of every launch fit along the second axis."""
    known = arguments.symbol(count)
    return known is not None and known[1] <= MOST_ALONG_Y * many


MOVE = Move(
    id="rows_of_vectors",
    method="change_block_sizes",
    languages=("triton",),
    why="A program does 8 or 4 neighbouring rows, each of which is loaded once as aligned vectors "
    "of 4 elements, those above and below as well. Loads a column to the left or right, which can "
    "be no vectors, are made of what the thread holds: only the element beside each vector is "
    "loaded by itself. Programs side by side run at once. Pays for stencils with long rows whose "
    "length is a multiple of 4; other lengths stay right, but are loaded element by element.",
    write=_write,
)
