"""Loops whose next iterations' loads are under way, and warps that do nothing but load."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.kernels import Kernel, kernels_of
from .parts.loops import innermost, options_of, with_option
from .parts.nodes import walk
from .parts.source import is_call

STAGES = ((3, 0.2), (2, 0.15), (4, 0.12))


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found = [*_staged(kernels), *(c for k in kernels for c in _specialised(state, k))]
    if not found:
        return NotApplicable(
            "it has no loop with loads, but such with tl.dot, whose stages are those of the launch"
        )
    return tuple(found)


def _staged(kernels: Sequence[Kernel]) -> Iterator[Candidate]:
    """Without tl.dot a loop is pipelined only where its range says so."""
    loops = [
        (kernel, loop)
        for kernel in kernels
        for loop in innermost(kernel)
        if not _multiplies(loop) and "num_stages" not in options_of(loop)
    ]
    for stages, prior in STAGES if loops else ():
        edits = (e for k, loop in loops for e in with_option(k, loop, "num_stages", str(stages)))
        told = f"{stages} stages in loops along data"
        yield Candidate(
            method=MOVE.method, detail=told, source=kernels[0].source.edited(edits), prior=prior
        )


def _specialised(state: State, kernel: Kernel) -> Iterator[Candidate]:
    """One group of warps loads through descriptors, the others multiply (Hopper and later)."""
    for loop in innermost(kernel):
        if not _multiplies(loop) or "warp_specialize" in options_of(loop):
            continue
        described = [n for n in walk(loop) if _is_descriptor_load(n)]
        if len(described) < 2:
            continue
        branches = [n.test for n in walk(loop) if isinstance(n, ast.IfExp)]
        flags = {t.id for t in branches if isinstance(t, ast.Name)}
        value = flags.pop() if len(flags) == 1 else "True"
        edits = with_option(kernel, loop, "warp_specialize", value)
        known = state.spec.parameters.get("num_warps")
        four = {"num_warps": 4} if known is not None and 4 in known.values else None
        yield Candidate(
            method=MOVE.method,
            detail=f"warps of their own load for the loop of line {loop.lineno}",
            source=kernel.source.edited(edits),
            parameters=four,
            prior=0.25,
        )


def _multiplies(loop: ast.For) -> bool:
    return any(is_call(n, "dot") for n in walk(loop))


def _is_descriptor_load(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "load"
        and not is_call(node, "load")
    )


MOVE = Move(
    id="loop_stages",
    method="enable_async_pipeline",
    languages=("triton",),
    why="Lets loads of the next iterations run while this one computes: `num_stages` of a loop "
    "without tl.dot, which Triton pipelines only where told, and `warp_specialize` of one that "
    "loads through tensor descriptors. Pays where a loop waits for its loads.",
    write=_write,
)
