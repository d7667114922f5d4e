"""`__launch_bounds__(threads, blocks)`: how many threads a block has, and how many blocks should
be resident, which caps registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import text_of
from ....runners.model import Candidate
from ....runners.specs.part import Expression
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import edited, insert_before, replace_node
from .parts.reading import CudaKernel, launch_bounds_of, read_kernels

if TYPE_CHECKING:
    pass

REGISTERS = 65536
"""of a multiprocessor; compute capability 5.0 to 12.x"""
THREADS = 2048
"""resident on a multiprocessor of compute capability 8.0 and 9.0"""
CAPS = ((64, 0.12), (32, 0.08), (128, 0.05), (255, 0.05))
"""registers a thread that a number of resident blocks leaves, prior; the last: no cap"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found: list[Candidate] = []
    for name in dict.fromkeys(k.function.name for k in kernels):
        launched = [k for k in kernels if k.function.name == name]
        found += _of_kernel(launched, state, alone=len(launched) == len(kernels))
    if not found:
        return NotApplicable("no kernel has a block of one size that is a number, or a parameter")
    return tuple(sorted(found, key=lambda c: -c.prior))


def _of_kernel(launched: list[CudaKernel], state: State, *, alone: bool) -> list[Candidate]:
    kernel = launched[0]
    if any(k.launch.block != kernel.launch.block for k in launched):
        return []
    sizes = [s for s in kernel.launch.block if s != 1] or [1]
    threads = _number(sizes, state)
    declared = launch_bounds_of(kernel)
    place = kernel.function.node.child_by_field_name("declarator")
    if threads is None or place is None or not 1 <= threads <= 1024:
        return []
    written = " * ".join(map(str, sizes))
    if all(isinstance(s, int) for s in sizes):
        written = str(threads)
    found: list[Candidate] = []
    texts = {text_of(declared).replace(" ", "")} if declared is not None else set[str]()
    for cap, prior in CAPS:
        blocks = min(THREADS, REGISTERS // cap) // threads
        more = "" if cap == CAPS[-1][0] else f", {blocks}"
        bounds = f"__launch_bounds__({written}{more})"
        if (more and blocks < 1) or bounds.replace(" ", "") in texts:
            continue
        texts.add(bounds.replace(" ", ""))
        edit = replace_node(declared, bounds) if declared else insert_before(place, bounds + " ")
        where = "" if alone else f"{kernel.function.name}: "
        found.append(
            Candidate(
                method=MOVE.method,
                detail=f"{where}{bounds}",
                source=edited(kernel.text, [edit]),
                prior=prior,
            )
        )
    return found


def _number(sizes: list[Expression], state: State) -> int | None:
    """The threads of a block: numbers, and parameters of the spec, which are macros, as set."""
    product = 1
    for size in sizes:
        if isinstance(size, int):
            product *= size
        elif size in state.assignment:
            product *= state.assignment[size]
        else:
            return None
    return product


MOVE = Move(
    id="launch_bounds",
    method="reduce_register_pressure",
    languages=("cuda",),
    why="Tells the compiler the threads of a block and how many blocks should be resident, so "
    "that it gives each thread that many registers and no more. Pays where registers limit "
    "occupancy and nothing spills, or where a cap that the compiler assumed was too low.",
    write=_write,
)
