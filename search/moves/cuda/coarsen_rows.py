"""One row a thread becomes several neighbouring rows a thread, along y of a grid."""

from __future__ import annotations

from ....runners.c_source.loops import for_loop
from ....runners.c_source.nodes import text_of, walk
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import indent_of
from .parts.element_text import fewer_blocks, free_name, guard_lines, with_work, work_lines
from .parts.per_element import PerElement, per_element
from .parts.reading import CudaKernel, names_in_code, of_each, read_kernels
from .parts.sizes import count_of

ROWS = ((4, 0.2), (8, 0.15), (2, 0.1), (16, 0.05))
"""rows a thread, prior"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    return kernels if isinstance(kernels, NotApplicable) else of_each(kernels, _of_kernel)


def _of_kernel(kernel: CudaKernel) -> list[Candidate] | NotApplicable:
    element = per_element(kernel, "y")
    if isinstance(element, NotApplicable):
        return element
    if _is_long(element):
        return NotApplicable("the work on one element is a loop over a size: a thread has enough")
    if count_of(element) is None:
        bound = text_of(element.bound)
        return NotApplicable(f"the bound `{bound}` is no product of sizes of the contract")
    return [_candidate(element, rows, prior) for rows, prior in ROWS]


def _is_long(element: PerElement) -> bool:
    loops = (for_loop(n) for s in element.body for n in walk(s))
    return any(
        loop is not None and names_in_code(loop.bound) & element.kernel.scalars.keys()
        for loop in loops
    )


def _candidate(element: PerElement, rows: int, prior: float) -> Candidate:
    kernel = element.kernel
    x, y, z = kernel.launch.grid
    return Candidate(
        method=MOVE.method,
        detail=f"{kernel.function.name}: {rows} rows a thread",
        source=_source(element, rows),
        plan=kernel.plan_with(grid=(x, fewer_blocks(y, rows), z)),
        prior=prior,
    )


def _source(element: PerElement, rows: int) -> str:
    """The work in a loop over rows; any grid that reaches all of them does."""
    tab = indent_of(element.kernel.text, element.work.start_byte)
    count, top, at = (free_name(element, n) for n in ("kRows", "top", "at"))
    bound, wide = text_of(element.bound), element.wide
    lines = [
        *guard_lines(element, tab),
        f"{tab}constexpr unsigned {count} = {rows};  // rows a thread",
        f"{tab}for ({wide} {top} = (blockIdx.y * blockDim.y + threadIdx.y) * {count}; "
        f"{top} < {bound};",
        f"{tab}     {top} += gridDim.y * blockDim.y * {count}) {{",
        f"{tab}    for ({wide} {at} = {top}; {at} < {bound} && {at} < {top} + {count}; ++{at}) {{",
        f"{tab}        const {element.type} {element.index} = {at};",
        *work_lines(element, tab + "        "),
        f"{tab}    }}",
        f"{tab}}}",
    ]
    return with_work(element, lines)


MOVE = Move(
    id="coarsen_rows",
    method="register_tiling",
    languages=("cuda",),
    why="On a two-dimensional grid a thread does 2 to 16 neighbouring rows: what one row reads of "
    "the next is still in L1, addresses of a column are computed once, and blocks are fewer. Pays "
    "for stencils and where blocks are short-lived.",
    write=_write,
)
