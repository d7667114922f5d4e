"""One row a thread becomes several neighbouring rows a thread, along y of a grid."""

from __future__ import annotations

import re

from ....runners.inferring.cpp_signature import text_of, walk
from ....runners.model import Candidate
from ..base import Move, NotApplicable, Proposals, State
from ..edits import Edit, edited, indent_of, reindented, whole_lines, with_comments
from .loops import plain_loop
from .per_element import PerElement, per_element
from .reading import names_in_code, read_kernels
from .sizes import count_of

ROWS = ((4, 0.2), (8, 0.15), (2, 0.1), (16, 0.05))
"""rows a thread, prior"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found: list[Candidate] = []
    reasons = dict[str, None]()
    for kernel in kernels:
        element = per_element(kernel, "y")
        if isinstance(element, NotApplicable):
            reasons[element.reason] = None
        elif _is_long(element):
            reasons["the work on one element is a loop over a size: a thread has enough"] = None
        elif count_of(element) is None:
            bound = text_of(element.bound)
            reasons[f"the bound `{bound}` is no product of sizes of the contract"] = None
        else:
            found += [_candidate(element, rows, prior) for rows, prior in ROWS]
    return tuple(found) if found else NotApplicable("; ".join(reasons))


def _is_long(element: PerElement) -> bool:
    loops = (plain_loop(n) for s in element.body for n in walk(s))
    return any(
        loop is not None and names_in_code(loop.bound) & element.kernel.scalars.keys()
        for loop in loops
    )


def _candidate(element: PerElement, rows: int, prior: float) -> Candidate:
    kernel = element.kernel
    x, y, z = kernel.launch.grid
    simple = re.fullmatch(r"cdiv\(([\w\s*]+), (\d+)\)", str(y))
    fewer: int | str = f"cdiv({y}, {rows})"
    if isinstance(y, int):
        fewer = -(-y // rows)
    elif simple is not None:
        fewer = f"cdiv({simple[1]}, {int(simple[2]) * rows})"
    return Candidate(
        method=MOVE.method,
        detail=f"{kernel.function.name}: {rows} rows a thread",
        source=_source(element, rows),
        plan=kernel.plan_with(grid=(x, fewer, z)),
        prior=prior,
    )


def _source(element: PerElement, rows: int) -> str:
    """The work in a loop over rows; any grid that reaches all of them does."""
    text = element.kernel.text
    start, end = element.work.start_byte, element.kernel.body.named_children[-1].end_byte
    tab = indent_of(text, start)
    taken = names_in_code(element.kernel.body)
    count, top, at = (_fresh(n, taken) for n in ("kRows", "top", "at"))
    guards = [text_of(g) for g in element.guards]
    test = " || ".join(guards) if element.returns else f"!({' && '.join(guards)})"
    bound, wide = text_of(element.bound), element.wide
    pieces = [
        reindented(edited(text, (), *piece), indent_of(text, piece[0]), tab + "        ")
        for piece in with_comments(text, element.body)
    ]
    lines = [
        *([f"{tab}if ({test}) return;"] if guards else []),
        f"{tab}constexpr unsigned {count} = {rows};  // rows a thread",
        f"{tab}for ({wide} {top} = (blockIdx.y * blockDim.y + threadIdx.y) * {count}; "
        f"{top} < {bound};",
        f"{tab}     {top} += gridDim.y * blockDim.y * {count}) {{",
        f"{tab}    for ({wide} {at} = {top}; {at} < {bound} && {at} < {top} + {count}; ++{at}) {{",
        f"{tab}        const {element.type} {element.index} = {at};",
        *pieces,
        f"{tab}    }}",
        f"{tab}}}",
    ]
    gone = [Edit(*whole_lines(text, n.start_byte, n.end_byte), "") for n in element.gone]
    return edited(text, [Edit(start, end, "\n".join(lines).lstrip()), *gone])


def _fresh(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "_"
    return name


MOVE = Move(
    id="coarsen_rows",
    method="register_tiling",
    languages=("cuda",),
    why="On a two-dimensional grid a thread does 2 to 16 neighbouring rows: what one row reads of "
    "the next is still in L1, addresses of a column are computed once, and blocks are fewer. Pays "
    "for stencils and where blocks are short-lived.",
    write=_write,
)
