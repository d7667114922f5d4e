"""Operators that go over a dimension for each element of their result: reductions and products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....runners.modules.common.graphs import GraphNode

FOLDS: Mapping[str, tuple[str, str]] = {
    "sum": ("0.0f", "{acc} + {x}"),
    "amax": ("(-INFINITY)", "fmaxf({acc}, {x})"),
    "amin": ("INFINITY", "fminf({acc}, {x})"),
    "prod": ("1.0f", "{acc} * {x}"),
}
"""where it starts, and the next of it"""
REDUCTIONS: Mapping[str, str] = {
    "aten.sum.dim_IntList": "sum",
    "aten.sum.default": "sum",
    "aten.amax.default": "amax",
    "aten.amin.default": "amin",
    "aten.prod.dim_int": "prod",
}
PRODUCTS: Mapping[str, tuple[str, str]] = {
    "aten.mm.default": ("ik", "kj"),
    "aten.bmm.default": ("bik", "bkj"),
    "aten.mv.default": ("ik", "k"),
    "aten.dot.default": ("k", "k"),
}
"""which dimensions the two operands have; `k` is summed over"""


@dataclass(frozen=True)
class Axes:
    """Dimensions of a reduction's operand: those that it goes over, and those that stay."""

    over: tuple[int, ...]
    kept: tuple[int, ...]
    """for each dimension of the operand that stays, its place in the result"""


def is_sum(node: GraphNode) -> bool:
    """Whether an element of it needs many of what it is made of."""
    return node.op in REDUCTIONS or node.op in PRODUCTS


def axes_of(node: GraphNode, rank: int) -> Axes:
    """Of a reduction over an operand of that many dimensions."""
    given: Any = node.args[1] if len(node.args) > 1 else None
    axes: list[int] = [given] if isinstance(given, int) else list(given or ())
    over = tuple(sorted(a + rank if a < 0 else a for a in axes)) or tuple(range(rank))
    keepdim = len(node.shape or ()) == rank
    kept = tuple(a if keepdim else a - sum(o < a for o in over) for a in range(rank))
    return Axes(over, kept)
