"""Main loops without tests of bounds, for blocks that lie inside: a block tests once, before its
loop, whether all of them hold; blocks at the ends keep them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....runners.c_source.loops import LOOPS
from ....runners.c_source.nodes import parents, qualifiers_of, text_of, walk
from ....runners.c_source.preprocessor import pragma_above
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, replace_node
from .parts.constants import known_numbers
from .parts.expressions import Locals
from .parts.free_names import free_names
from .parts.guards import MOST, Guard, Guards, text_of_needs
from .parts.reading import CudaKernel, of_each, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

LARGE = 6000
"""bytes of a loop that is written twice"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    unique = {k.function.name: k for k in kernels}
    one = len(unique) == 1
    return of_each(unique.values(), lambda kernel: _of_kernel(kernel, state, one=one))


def _of_kernel(kernel: CudaKernel, state: State, *, one: bool) -> list[Candidate] | NotApplicable:
    name = kernel.function.name
    guards = Guards(kernel, Locals(kernel.body), known_numbers(state, kernel))
    found = [(loop, mine) for loop in _outermost(kernel.body) if (mine := guards.of(loop))]
    if not found:
        return NotApplicable(
            f"no loop of `{name}` compares, in an `if` or `?:`, what is linear in the thread, the "
            "block and counters with a size that all threads share"
        )
    fitting = [(loop, mine[:MOST]) for loop, mine in found if not _unfit(loop)]
    if not fitting:
        return NotApplicable("; ".join(dict.fromkeys(_unfit(loop) for loop, _ in found)))
    count = sum(len(mine) for _, mine in fitting)
    flags = free_names(kernel, *(["all_inside"] * len(fitting)))
    edits = [e for f, (loop, mine) in zip(flags, fitting, strict=True)
             for e in _edits(kernel, loop, mine, f)]  # fmt: skip
    where = "" if one else f"{name}: "
    return [
        Candidate(
            method=MOVE.method,
            detail=f"{where}blocks inside leave out {count} tests of bounds in "
            f"{len(fitting)} loop{'s' if len(fitting) > 1 else ''}",
            source=edited(kernel.text, edits),
            prior=0.25,
        )
    ]


def _outermost(body: Node) -> Iterator[Node]:
    """The `for` loops that stand in no other loop."""
    for node in walk(body):
        if node.type == "for_statement" and not any(
            p.type in LOOPS for p in parents(node) if p.start_byte >= body.start_byte
        ):
            yield node


def _unfit(loop: Node) -> str:
    """Why a loop cannot stand there twice; empty: it can."""
    for above in parents(loop):
        chosen = above.child_by_field_name("condition") if above.type == "if_statement" else None
        other = above.child_by_field_name("alternative")
        if chosen is not None and other is not None and "inside" in text_of(chosen):
            return "its loops are there for blocks inside and at the ends already"
    if loop.end_byte - loop.start_byte > LARGE:
        return f"its loop is longer than {LARGE} bytes, and would be there twice"
    for node in walk(loop):
        if node.type == "declaration" and {"__shared__", "static"} & {
            *qualifiers_of(node), *(text_of(c) for c in node.children)
        }:  # fmt: skip
            return "its loop declares what would be there twice: shared or static memory"
        if node.type == "labeled_statement" or node.type.startswith(("preproc_if", "preproc_def")):
            return "its loop holds a label or lines of the preprocessor, and would be there twice"
    return ""


def _edits(kernel: CudaKernel, loop: Node, guards: list[Guard], flag: str) -> Iterator[Edit]:
    text = kernel.text
    above = pragma_above(loop)
    pragma = f"\n{text_of(above).strip()}\n    " if above is not None else ""
    plain = edited(text, (replace_node(g.node, "true") for g in guards), loop.start_byte,
                   loop.end_byte)  # fmt: skip
    first = above or loop
    lines = (
        "{  // a block whose threads are inside in every iteration tests it once",
        f"    const bool {flag} = {text_of_needs(guards)};",
        f"    if ({flag}) {{{pragma}",
        f"        {plain}",
        f"    }} else {{{pragma}",
        f"        {edited(text, (), loop.start_byte, loop.end_byte)}",
        "    }",
        "    }",
    )
    yield Edit(first.start_byte, loop.end_byte, "\n    ".join(lines))


MOVE = Move(
    id="whole_tiles",
    method="pad_tail_and_mask",
    languages=("cuda",),
    why="Tests of bounds in a loop are left out for blocks that lie inside in all iterations, "
    "which a block tests once before it; blocks at the ends keep them. Pays where most blocks lie "
    "inside and tests cost instructions in the main loop, or keep loads apart.",
    write=_write,
)
