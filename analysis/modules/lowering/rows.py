"""The first rows of a large elementwise kernel, on which it is searched in place of all of them.

Where each element of a result needs those at its own place alone, the kernel of some rows is the
kernel of all: the same text, with another bound. What is right and fast on rows that fill the
memory's bandwidth is so on more of them, and the ModelNew of all is compared as a whole anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from .cutting import Cut, Kernel, operands
from .pointwise import ELEMENTWISE

ROWS = "ROWS"
"""the macro that bounds them"""
WHOLE = 1 << 26
"""elements of a result up to which all of it is searched"""
PART = 1 << 24
"""most elements of the rows: more than caches hold"""
MOST = (1 << 31) - (1 << 24)
"""elements that an index of 32 bits counts"""


@dataclass(frozen=True)
class FirstRows:
    """A kernel's cut with fewer rows."""

    cut: Cut
    some: int
    all: int


def first_rows(cut: Cut, kernel: Kernel) -> FirstRows | None:
    """The kernel on some of its rows, as many as divide all of them. None: it is small, or an
    element needs more than its own place."""
    shape = cut.shape(kernel.name)
    count = prod(shape)
    if kernel.sum is not None or not WHOLE < count < MOST:
        return None
    computed, read = _cone(cut, kernel)
    if not all(_is_by_place(cut, name) for name in computed):
        return None
    row = count // shape[0]
    # of a single row the kernel has no index: two at least
    some = max((d for d in range(2, shape[0]) if shape[0] % d == 0 and d * row <= PART), default=0)
    if not some:
        return None
    fewer = {
        name: cut.nodes[name].model_copy(update={"shape": (some, *cut.shape(name)[1:])})
        for name in computed | read
        if len(cut.shape(name)) == len(shape) and cut.shape(name)[0] == shape[0]
    }
    return FirstRows(replace(cut, nodes={**cut.nodes, **fewer}), some, shape[0])


def _cone(cut: Cut, kernel: Kernel) -> tuple[set[str], set[str]]:
    """What a kernel computes, and what it reads from memory."""
    computed, read, open_ones = {kernel.name}, set[str](), [kernel.name]
    while open_ones:
        for name in operands(cut.nodes[open_ones.pop()]):
            if name in cut.stored:
                read.add(name)
            elif name not in computed:
                computed.add(name)
                open_ones.append(name)
    return computed, read


def _is_by_place(cut: Cut, name: str) -> bool:
    """Whether it is an elementwise operator that is told no shape, nor its place."""
    node = cut.nodes[name]
    told = any(isinstance(each, list) for each in node.args) or node.op.startswith("aten.arange")
    return node.op in ELEMENTWISE and not told
