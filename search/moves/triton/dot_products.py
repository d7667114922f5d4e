"""Sums of products of broadcast tiles become `tl.dot`, which tensor cores compute."""

from __future__ import annotations

import ast

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.kernels import kernels_of
from .parts.nodes import walk
from .parts.source import argument, is_call
from .parts.values import Values

ROWS, COLUMNS = (":", ":", "None"), ("None", ":", ":")


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    precision = _precision(state)
    edits = [
        kernel.source.replace(node, f"tl.dot({kernel.source.text(a)}, {kernel.source.text(b)}"
                                    f"{precision})")
        for kernel in kernels
        for node in walk(kernel.function)
        if isinstance(node, ast.Call) and (pair := _pair(Values(kernel), node)) is not None
        for a, b in [pair]
    ]  # fmt: skip
    if not edits:
        return NotApplicable(
            "the kernel has no `tl.sum(a[:, :, None] * b[None, :, :], axis=1)` that tl.dot could do"
        )
    source = kernels[0].source.edited(edits)
    told = "sums of broadcast products become tl.dot"
    return (Candidate(method=MOVE.method, detail=told, source=source, prior=0.6),)


def _pair(values: Values, call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """a (M, K) and b (K, N) of `tl.sum(a[:, :, None] * b[None, :, :], axis=1)`."""
    axis = argument(call, 1, "axis")
    if not is_call(call, "sum") or not (isinstance(axis, ast.Constant) and axis.value == 1):
        return None
    product, _ = values.resolved(call.args[0], values.statement(call))
    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
        return None
    sides = {
        _index(s): s.value for s in (product.left, product.right) if isinstance(s, ast.Subscript)
    }
    if set(sides) != {ROWS, COLUMNS} or product is not call.args[0]:
        return None
    return sides[ROWS], sides[COLUMNS]


def _index(node: ast.Subscript) -> tuple[str, ...]:
    return tuple(ast.unparse(node.slice).strip("()").split(", "))


def _precision(state: State) -> str:
    """Triton multiplies fp32 in TF32 unless told; the contract says whether it may."""
    io = state.spec.io
    exact = any(a.dtype == "float32" for a in io.arguments if a.role in ("input", "inout"))
    return ', input_precision="ieee"' if exact and io.math == "ieee" else ""


MOVE = Move(
    id="dot_products",
    method="switch_to_mma_or_wgmma",
    languages=("triton",),
    why="Writes a sum over products of two broadcast tiles as tl.dot: no tile of three axes, and "
    "tensor cores where the types allow it. Pays wherever matrices are multiplied so.",
    write=_write,
)
