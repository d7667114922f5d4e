"""One element a thread becomes several vectors of neighbouring elements a thread."""

from __future__ import annotations

from ....runners.c_source.loops import LOOPS
from ....runners.c_source.nodes import text_of, walk
from ....runners.model import Candidate
from ....runners.specs.spec import KernelSpec
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.accesses import accesses_of
from .parts.element_text import fewer_blocks
from .parts.lanes import Vector, interior_of, vectors_of
from .parts.per_element import PerElement, per_element
from .parts.reading import CudaKernel, of_each, read_kernels
from .parts.sizes import count_of
from .parts.vector_text import BITS, VectorKernel

FAMILY = ((16, 1, 0.3), (16, 2, 0.3), (16, 4, 0.15), (8, 2, 0.1), (8, 4, 0.1))
"""bytes of the widest vector, vectors a thread, prior"""
SCATTERED = 0.3
"""of the prior, where a store stays one element at a time: that is what it waits for"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    one = len(kernels) == 1
    return of_each(kernels, lambda kernel: _of_kernel(kernel, state.spec, one=one))


def _of_kernel(
    kernel: CudaKernel, spec: KernelSpec, *, one: bool
) -> list[Candidate] | NotApplicable:
    element = per_element(kernel)
    if isinstance(element, NotApplicable):
        return element
    if any(n.type in LOOPS for s in element.body for n in walk(s)):
        return NotApplicable("the work on one element is a loop")
    if element.items and not (element.items.isdigit() or element.items in spec.parameters):
        return NotApplicable(f"`{element.items}` is neither a number nor a parameter of the spec")
    bound = count_of(element)
    if bound is None:
        return NotApplicable(
            f"the bound `{text_of(element.bound)}` is no product of sizes of the contract"
        )
    interior = interior_of(element)
    inner = element if interior is None else interior.element
    vectors = vectors_of(inner)
    if not vectors:
        return NotApplicable(
            f"no array is read or written at `{element.index}` (or a row's start + "
            f"`{element.index}`) for every element"
        )
    where = "" if one else f"{kernel.function.name}: "
    found = list[Candidate]()
    for nbytes, unroll, prior in FAMILY:
        lanes = nbytes // max(v.pointer.itemsize for v in vectors)
        fitting = tuple(v for v in vectors if fits(v, lanes))
        if lanes < 2 or not fitting:
            continue
        vectorised = VectorKernel(element, interior, fitting, lanes, bound, spec)
        names = ", ".join(dict.fromkeys(v.pointer.name for v in fitting))
        stores = {v.pointer.name for v in fitting if v.stored}
        scattered = bool(stored_arrays(element) - stores)
        found.append(
            Candidate(
                method=MOVE.method,
                detail=f"{where}{names}: {unroll} x {lanes} elements a thread",
                source=vectorised.source(unroll),
                plan=_plan(element, lanes * unroll),
                prior=prior * (SCATTERED if scattered else 1),
            )
        )
    if not found:
        return NotApplicable(
            "the contract promises no alignment of 8 bytes or more, or elements are vectors already"
        )
    return found


def stored_arrays(element: PerElement) -> set[str]:
    """The arrays that are stored to by assignment."""
    made = accesses_of(element.kernel, element.known)
    return {a.pointer.name for a in made if a.mode == "write"}


def fits(vector: Vector, lanes: int) -> bool:
    """Whether an array is aligned to vectors of so many elements, and each of them is needed."""
    nbytes = lanes * vector.pointer.itemsize
    aligned = vector.pointer.align % nbytes == 0
    return nbytes in BITS and aligned and (vector.stored or vector.covers(lanes))


def _plan(element: PerElement, elements: int) -> dict[str, object]:
    """As many blocks along x as do all elements, so many times more in each."""
    x, y, z = element.kernel.launch.grid
    if element.items:
        return element.kernel.plan_with(grid=(f"cdiv(({x}) * {element.items}, {elements})", y, z))
    return element.kernel.plan_with(grid=(fewer_blocks(x, elements), y, z))


MOVE = Move(
    id="vectorize_elementwise",
    method="vectorize_global_loads",
    languages=("cuda",),
    why="Where a thread does one element, it does vectors of 16 or 8 bytes, one or several with "
    "all loads first, in a loop over the grid; what is no whole vector goes element by element. "
    "Pays where memory is not saturated: fewer instructions, more bytes on their way.",
    write=_write,
)
