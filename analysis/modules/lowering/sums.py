"""Operators that go over a dimension for each element of their result: reductions and products."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ....runners.modules.common.graphs import GraphNode
from .by_place import is_by_place

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


WINDOWS: Mapping[str, str] = {
    "aten.max_pool2d.default": "amax",
    "aten.max_pool3d.default": "amax",
    "aten.avg_pool2d.default": "sum",
    "aten.avg_pool3d.default": "sum",
}
"""sums over a window of places; an average is one whose divisor is 1"""
PLACES: Mapping[str, tuple[str, str]] = {
    "aten.argmax.default": ("(-INFINITY)", ">"),
    "aten.argmin.default": ("INFINITY", "<"),
}
"""what is the place of the first that is most: from where, and what is more"""


@dataclass(frozen=True)
class Window:
    """Of the last dimensions, one after another: its size, and how its places lie."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


@dataclass(frozen=True)
class Axes:
    """Dimensions of a reduction's operand: those that it goes over, and those that stay."""

    over: tuple[int, ...]
    kept: tuple[int, ...]
    """for each dimension of the operand that stays, its place in the result"""


def is_sum(node: GraphNode) -> bool:
    """Whether an element of it needs many of what it is made of."""
    folds = (REDUCTIONS, PRODUCTS, WINDOWS, PLACES)
    return any(node.op in each for each in folds) or is_by_place(node)


def window_of(node: GraphNode) -> Window | None:
    """Of a pool; None for one whose last places may hang over the edge, or whose divisor varies."""
    given: list[Any] = list(node.args)
    sizes = given[1]

    def of(position: int, default: int) -> tuple[int, ...]:
        told = given[position] if len(given) > position and given[position] else [default]
        return tuple(told) * (len(sizes) if len(told) == 1 else 1)

    average = WINDOWS[node.op] == "sum"
    hangs = len(given) > (4 if average else 5) and given[4 if average else 5]
    varies = average and (len(given) < 7 or given[6] != 1)
    if hangs or varies:
        return None
    strides = of(2, 0) if len(given) > 2 and given[2] else tuple(sizes)
    dilation = of(4, 1) if not average else (1,) * len(sizes)
    return Window(of(1, 1), strides, of(3, 0), dilation)


def axes_of(node: GraphNode, rank: int) -> Axes:
    """Of a reduction over an operand of that many dimensions."""
    given: Any = node.args[1] if len(node.args) > 1 else None
    axes: list[int] = [given] if isinstance(given, int) else list(given or ())
    over = tuple(sorted(a + rank if a < 0 else a for a in axes)) or tuple(range(rank))
    keepdim = len(node.shape or ()) == rank
    kept = tuple(a if keepdim else a - sum(o < a for o in over) for a in range(rank))
    return Axes(over, kept)
