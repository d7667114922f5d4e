"""`exp` as `exp2` of a scaled argument: the scale joins the subtraction before it in one FMA."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.kernels import Kernel, kernels_of
from .parts.nodes import walk
from .parts.source import is_call

LOG2E = "1.4426950408889634"


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    edits = [e for k in kernels for n in walk(k.function) for e in _scaled(k, n)]
    if not edits:
        return NotApplicable("the kernel has no tl.exp of a difference")
    text = kernels[0].source.edited(edits)
    return (
        Candidate(method=MOVE.method, detail="exp as exp2, log2(e) folded in", source=text,
                  prior=0.1),
    )  # fmt: skip


def _scaled(kernel: Kernel, node: ast.AST) -> list[Edit]:
    """Of `tl.exp(x - y)`; the inside of an argument stays as it is."""
    if not (isinstance(node, ast.Call) and is_call(node, "exp") and len(node.args) == 1):
        return []
    inner = node.args[0]
    if not (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub)):
        return []
    _, end = kernel.source.span(inner)
    start, _ = kernel.source.span(inner)
    name = kernel.source.replace(node.func, "tl.exp2")
    return [name, Edit(start, start, "("), Edit(end, end, f") * {LOG2E}")]


MOVE = Move(
    id="base_two_exponentials",
    method="softmax_math_fusion",
    languages=("triton",),
    why="Writes exp(x - y) as exp2((x - y) * log2(e)): the unit computes powers of two, and the "
    "product is explicit, where the compiler can join it with others. Seldom pays by itself.",
    write=_write,
)
