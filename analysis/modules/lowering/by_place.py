"""Operators that put elements where indices say, and running sums, turned around: an element of the
result looks at every place that could be put there.

That takes as many steps for each element as there are places, where ATen takes one step a place: it
is written for few places alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode
from .placed import Shapes, Value, axis_of, indexed_axes, name_of, spread_shape
from .pointwise import literal
from .views import Indices, broadcast

MOST_PLACES = 128
SCATTERED: Mapping[str, str] = {
    "aten.scatter.src": "set",
    "aten.scatter.value": "set",
    "aten.scatter_add.default": "sum",
    "aten.scatter_reduce.two": "",
    "aten.index_put.default": "",
}
"""what becomes of elements at one place; empty: an argument says it"""
RUNNING: Mapping[str, str] = {"aten.cumsum.default": "sum", "aten.cumprod.default": "prod"}
NAMED: Mapping[str, str] = {"sum": "sum", "prod": "prod", "amax": "amax", "amin": "amin"}
"""of `scatter_reduce`"""


@dataclass(frozen=True)
class Looked:
    """What an element looks at: where it starts (`start`: an element's expression; empty: as the
    fold does), the loops, under which condition a place counts, and what it brings."""

    start: str
    fold: str
    loops: tuple[tuple[str, int], ...]
    where: str
    brings: str


def is_by_place(node: GraphNode) -> bool:
    """Whether it is one of these operators."""
    return node.op in SCATTERED or node.op in RUNNING


def fold_of(node: GraphNode) -> str:
    """What becomes of elements at one place: `set`, or a fold's name; empty: none of ours."""
    if node.op == "aten.index_put.default":
        return "sum" if len(node.args) > 3 and node.args[3] else "set"
    given = list[Any](node.args)
    if node.op == "aten.scatter_reduce.two":
        whole = (len(given) < 6 or given[5]) and node.kwargs.get("include_self", True)
        return NAMED.get(str(given[4]), "") if whole else ""
    return SCATTERED.get(node.op) or RUNNING[node.op]


def why_not_by_place(node: GraphNode, shape: Shapes) -> str:
    """Why no kernel is written for one; empty: one is."""
    if not fold_of(node):
        return f"{node.op} with {node.args[4:]}"
    if node.op == "aten.index_put.default" and indexed_axes(node.args[1]) is None:
        return f"{node.op} whose indices stand apart"
    if not node.shape:
        return f"{node.op} of a single number"
    places = prod(size for _, size in _loops(node, shape))
    if fold_of(node) == "set" and places > 1 and node.op != "aten.scatter.value":
        return f"{node.op} of places that may be named twice: what stands there then is not defined"
    if places > MOST_PLACES:
        return f"{node.op} of {places} places: an element would look at each of them"
    return ""


def looked_at(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> Looked:
    """What an element of it is made of."""
    loops = _loops(node, shape)
    if node.op in RUNNING:
        axis = axis_of(int(node.args[1]), len(indices))
        x = value(name_of(node.args[0]), _with(indices, axis, "r0"))
        return Looked("", fold_of(node), loops, f"r0 <= {indices[axis]}", x)
    start = value(name_of(node.args[0]), indices)
    make = _put if node.op == "aten.index_put.default" else _scattered
    where, brings = make(node, indices, value, shape)
    return Looked(start, fold_of(node), loops, where, brings)


def _loops(node: GraphNode, shape: Shapes) -> tuple[tuple[str, int], ...]:
    if node.op in RUNNING:
        own = node.shape or ()
        sizes: Sequence[int] = [own[axis_of(int(node.args[1]), len(own))]]
    elif node.op == "aten.index_put.default":
        sizes = spread_shape([shape(name_of(each)) for each in node.args[1] if each])
    else:
        of = shape(name_of(node.args[2]))
        sizes = [of[axis_of(int(node.args[1]), len(of))]]
    return tuple((f"r{n}", size) for n, size in enumerate(sizes))


def _scattered(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> tuple[str, str]:
    index = name_of(node.args[2])
    axis, whole = axis_of(int(node.args[1]), len(indices)), node.shape or ()
    sizes = shape(index)
    at = tuple(
        "0" if sizes[a] == 1 else "r0" if a == axis else each for a, each in enumerate(indices)
    )
    inside = [
        f"{each} < {sizes[a]}"
        for a, each in enumerate(indices)
        if a != axis and sizes[a] < whole[a]
    ]
    where = " && ".join([*inside, f"{value(index, at)} == {indices[axis]}"])
    source = node.args[3]
    if not isinstance(source, dict) or "node" not in source:
        return where, literal(source)
    name = name_of(cast("dict[str, Any]", source))
    of = shape(name)
    return where, value(name, tuple("0" if n == 1 else i for n, i in zip(of, at, strict=True)))


def _put(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> tuple[str, str]:
    first, names = cast("tuple[int, list[str]]", indexed_axes(node.args[1]))
    spread = spread_shape([shape(name) for name in names])
    places = tuple("0" if n == 1 else f"r{k}" for k, n in enumerate(spread))
    conditions = list[str]()
    for k, name in enumerate(names):
        size = (node.shape or ())[first + k]
        read = value(name, broadcast(shape(name), places))
        conditions.append(f"({read} < 0 ? {read} + {size} : {read}) == {indices[first + k]}")
    at = (*indices[:first], *places, *indices[first + len(names) :])
    source = name_of(node.args[2])
    return " && ".join(conditions), value(source, broadcast(shape(source), at))


def _with(indices: Indices, axis: int, index: str) -> Indices:
    return (*indices[:axis], index, *indices[axis + 1 :])
