"""One element a thread becomes a grid-stride loop, with as many blocks as are resident at once."""

from __future__ import annotations

from ....runners.c_source.loops import LOOPS
from ....runners.c_source.nodes import text_of, walk
from ....runners.errors import SpecError
from ....runners.model import Candidate
from ....runners.specs.devices import device_for
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import indent_of
from .parts.element_text import block_and_grid, free_name, guard_lines, with_work, work_lines
from .parts.per_element import PerElement, per_element
from .parts.reading import CudaKernel, of_each, read_kernels
from .parts.sizes import count_of

BLOCKS = ((2048, 0.15), (1024, 0.1))
"""threads a multiprocessor, prior"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    try:
        count = device_for(state.spec.device_profile, ()).sm_count
    except SpecError as error:
        return NotApplicable(error.message)

    def write(kernel: CudaKernel) -> list[Candidate] | NotApplicable:
        element = _element(kernel)
        if isinstance(element, NotApplicable):
            return element
        return [_candidate(element, count, *choice) for choice in BLOCKS]

    return of_each(kernels, write)


def _element(kernel: CudaKernel) -> PerElement | NotApplicable:
    element = per_element(kernel)
    if isinstance(element, NotApplicable):
        return element
    if element.looped or element.items:
        return NotApplicable("its threads go on in a loop already")
    if any(n.type in LOOPS for s in element.body for n in walk(s)):
        return NotApplicable("the work on one element is a loop: a thread has enough to do")
    if count_of(element) is None:
        bound = text_of(element.bound)
        return NotApplicable(f"the bound `{bound}` is no product of sizes of the contract")
    block = kernel.launch.block
    if kernel.launch.grid[1:] != (1, 1) or block[1:] != (1, 1) or not isinstance(block[0], int):
        return NotApplicable("its grid has several axes, or its block no size in numbers")
    if isinstance(kernel.launch.grid[0], int):
        return NotApplicable("its grid is a number, whatever the size")
    return element


def _candidate(element: PerElement, count: int, threads: int, prior: float) -> Candidate:
    kernel = element.kernel
    block, grid = kernel.launch.block[0], kernel.launch.grid
    assert isinstance(block, int)
    blocks = count * max(1, threads // block)
    return Candidate(
        method=MOVE.method,
        detail=f"{kernel.function.name}: at most {blocks} blocks, in a grid-stride loop",
        source=_source(element),
        plan=kernel.plan_with(grid=(f"min({grid[0]}, {blocks})", *grid[1:])),
        prior=prior,
    )


def _source(element: PerElement) -> str:
    tab = indent_of(element.kernel.text, element.work.start_byte)
    at, wide = free_name(element, "at"), element.wide
    block, grid = block_and_grid(wide)
    lines = [
        *guard_lines(element, tab),
        f"{tab}for ({wide} {at} = {block} * blockDim.x + threadIdx.x; "
        f"{at} < {text_of(element.bound)}; {at} += {grid} * blockDim.x) {{",
        f"{tab}    const {element.type} {element.index} = {at};",
        *work_lines(element, tab + "    "),
        f"{tab}}}",
    ]
    return with_work(element, lines)


MOVE = Move(
    id="grid_stride",
    method="persistent_kernel",
    languages=("cuda",),
    why="Where a thread does one element, as many blocks as are resident at once go through all of "
    "them in a grid-stride loop, which can then be unrolled. Pays where blocks are short-lived: "
    "what each of them computes beforehand is done once.",
    write=_write,
)
