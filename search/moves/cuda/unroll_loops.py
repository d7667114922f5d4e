"""`#pragma unroll` on innermost loops."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ....runners.c_source.loops import for_loop, innermost_loops
from ....runners.c_source.nodes import text_of, walk
from ....runners.c_source.preprocessor import is_conditional, pragma_above
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, indent_of
from .parts.expressions import Locals
from .parts.reading import CudaKernel, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

FACTORS = ((4, 0.25), (8, 0.15), (16, 0.05), (2, 0.05))
"""how many times, prior"""
SMALL = 64
"""trips up to which a loop of known length is unrolled as a whole"""


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    unique = {k.function.name: k for k in kernels}
    constant = {*state.assignment, *state.spec.kernel.defines}
    loops = [(k, n) for k in unique.values() for n in _unrollable(k, constant)]
    if not loops:
        return NotApplicable(
            "no innermost `for` loop on lines of its own, without a barrier, that could be unrolled"
        )
    found = [
        candidate
        for factor, prior in FACTORS
        for candidate in _at(factor, prior, loops, kernels[0].text)
    ]
    return (
        tuple(sorted(found, key=lambda c: -c.prior))
        if found
        else NotApplicable("its innermost loops are unrolled as a whole already")
    )


def _unrollable(kernel: CudaKernel, constant: set[str]) -> list[Node]:
    known = Locals(kernel.body)
    return [
        node
        for node in innermost_loops(kernel.body)
        if node.parent is not None
        and node.parent.type == "compound_statement"
        and not is_conditional(node)
        and not _has_barrier(node)
        and _factor(node) != 0
        and not _is_short(node, known, constant)
    ]


def _has_barrier(node: Node) -> bool:
    return any(
        n.type == "call_expression"
        and text_of(n.child_by_field_name("function")) == "__syncthreads"
        for n in walk(node)
    )


def _is_short(node: Node, known: Locals, constant: set[str]) -> bool:
    """Whether the compiler unrolls the loop as a whole by itself: few trips, or macros' many."""
    loop = for_loop(node)
    if loop is None or not loop.counts_alone:
        return False
    if loop.trips is not None:
        return loop.trips <= SMALL
    bounds = (known.behind(b) for b in (loop.bound, loop.start))
    return all(b.type == "number_literal" or text_of(b) in constant for b in bounds)


def _factor(node: Node) -> int | None:
    """What `#pragma unroll` says above the loop; None: there is none, 0: no number, all of it."""
    pragma = pragma_above(node)
    if pragma is None:
        return None
    match = re.search(r"unroll\s*\(?\s*(\d+)", text_of(pragma))
    return int(match[1]) if match else 0


def _at(
    factor: int, prior: float, loops: list[tuple[CudaKernel, Node]], text: bytes
) -> list[Candidate]:
    """All loops together, and each alone where there are two to four."""
    nodes = [n for _, n in loops if _factor(n) != factor]
    found = [_candidate(f"all {len(loops)} loops" if len(loops) > 1 else "the loop", factor, prior,
                        nodes, text)] if nodes else []  # fmt: skip
    if factor == FACTORS[0][0] and 2 <= len(nodes) <= 4:
        for node in nodes:
            line = node.start_point.row + 1
            found.append(_candidate(f"the loop in line {line}", factor, prior / 2, [node], text))
    return found


def _candidate(what: str, factor: int, prior: float, nodes: list[Node], text: bytes) -> Candidate:
    return Candidate(
        method=MOVE.method,
        detail=f"#pragma unroll {factor} on {what}",
        source=edited(text, (_edit(node, factor, text) for node in nodes)),
        prior=prior,
    )


def _edit(node: Node, factor: int, text: bytes) -> Edit:
    pragma = pragma_above(node)
    if pragma is not None:
        said = text_of(pragma)
        changed = re.sub(r"(unroll\s*\(?\s*)\d+", rf"\g<1>{factor}", said)
        return Edit(pragma.start_byte, pragma.end_byte, changed)
    begin = text.rfind(b"\n", 0, node.start_byte) + 1
    if not text[begin : node.start_byte].strip():
        return Edit(begin, begin, f"#pragma unroll {factor}\n")
    tab = indent_of(text, node.start_byte)
    return Edit(node.start_byte, node.start_byte, f"\n#pragma unroll {factor}\n{tab}")


MOVE = Move(
    id="unroll_loops",
    method="increase_ilp",
    languages=("cuda",),
    why="Unrolls innermost loops 2 to 16 times, so that several loads or sums are on their way at "
    "once. Pays where a thread waits for its own last result, above all with `__restrict__`; "
    "costs registers.",
    write=_write,
)
