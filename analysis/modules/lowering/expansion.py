"""Operators written as simpler ones, by their definition: each new value is again one of ATen."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from math import prod
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode, ModuleGraph

LOCAL = re.compile(
    r"[irk]\d*|out|acc|best|at|stream|given|torch|self|float|double|int|short|long|char|void|new|this|"
    r"delete|template|operator|and|or|not|xor|default|auto|const|static|union"
)
"""names that kernels and their callers use for something else"""


def own_names(graph: ModuleGraph) -> ModuleGraph:
    """The same graph, where no value is called by a name that sources need."""
    taken = [n.name for n in graph.nodes if LOCAL.fullmatch(n.name) or iskeyword(n.name)]
    names = {n.name: f"{n.name}_" if n.name in taken else n.name for n in graph.nodes}

    nodes = tuple(
        renamed(node, names).model_copy(update={"name": names[node.name]}) for node in graph.nodes
    )
    outputs = tuple(names[name] for name in graph.outputs)
    changed = {names[name]: where for name, where in graph.changed.items()}
    return graph.model_copy(update={"nodes": nodes, "outputs": outputs, "changed": changed})


SAME: Mapping[str, str] = {
    "prims.sum.default": "aten.sum.dim_IntList",
    "prims.amax.default": "aten.amax.default",
    "prims.amin.default": "aten.amin.default",
    "prims.div.default": "aten.div.Tensor",
}
"""operators of prims that take what those of ATen take"""


TAKEN: Mapping[str, tuple[str, ...]] = {
    "aten.max_pool2d_with_indices.default": ("aten.max_pool2d.default",),
    "aten.max_pool3d_with_indices.default": ("aten.max_pool3d.default",),
    "aten.max.dim": ("aten.amax.default", "aten.argmax.default"),
    "aten.min.dim": ("aten.amin.default", "aten.argmin.default"),
}
"""operators with several results, and the one that each of these is"""
ALIKE: Mapping[str, Any] = {
    "aten.full_like.default": None,
    "aten.zeros_like.default": 0,
    "aten.ones_like.default": 1,
}
"""operators that take of their operand its shape alone, and the value of those that name none"""
AVERAGES = ("aten.avg_pool2d.default", "aten.avg_pool3d.default")


def expanded(nodes: Sequence[GraphNode]) -> tuple[GraphNode, ...]:
    """The same values by operators of ATen alone, a variance by its definition."""
    known = {node.name: node for node in nodes}
    return tuple(each for node in nodes for each in _of_aten(node, known))


def _of_aten(node: GraphNode, known: Mapping[str, GraphNode]) -> Iterator[GraphNode]:
    if node.op == "prims.var.default":
        yield from _variance(node, known)
    elif node.op == "prims.broadcast_in_dim.default":
        given, shape, axes = node.args
        yield from _spread(node, given, shape, axes)
    elif node.op == "python.getitem" and (taken := _taken(node, known)) is not None:
        yield taken
    elif node.op == "python.getitem" and (piece := _piece(node, known)) is not None:
        yield piece
    elif node.op in ALIKE or (node.op == "aten.full.default" and "dtype" not in node.kwargs):
        kwargs = {"dtype": {"dtype": node.dtype}}
        told = node.args[1] if len(node.args) > 1 else ALIKE[node.op]
        update = {"op": "aten.full.default", "args": (list(node.shape or ()), told)}
        yield node.model_copy(update={**update, "kwargs": kwargs})
    elif node.op in AVERAGES and (divisor := _divisor(node)):
        yield from _average(node, divisor)
    elif node.op == "aten.as_strided.default" and _is_row_major(node, known):
        args = (node.args[0], list(node.args[1]))
        yield node.model_copy(update={"op": "aten.view.default", "args": args})
    elif node.op == "prims.convert_element_type.default":
        kwargs = {"dtype": node.args[1]}
        update = {"op": "aten._to_copy.default", "args": node.args[:1], "kwargs": kwargs}
        yield node.model_copy(update=update)
    else:
        yield node.model_copy(update={"op": SAME.get(node.op, node.op)})


def _taken(node: GraphNode, known: Mapping[str, GraphNode]) -> GraphNode | None:
    """One of several results by an operator of its own; None where there is none."""
    of, place = known[node.args[0]["node"]], int(node.args[1])
    ops = TAKEN.get(of.op, ())
    if place >= len(ops):
        return None
    args: tuple[Any, ...] = of.args
    if ops[place] in ("aten.amax.default", "aten.amin.default"):
        args = (args[0], [args[1]], *args[2:])
    return node.model_copy(update={"op": ops[place], "args": args, "kwargs": of.kwargs})


def _piece(node: GraphNode, known: Mapping[str, GraphNode]) -> GraphNode | None:
    """One of several pieces of a value as a view of it; None where it is none."""
    of, place = known[node.args[0]["node"]], int(node.args[1])
    source, *given = of.args
    if of.op == "aten.unbind.int":
        args = (source, given[0] if given else 0, place)
        return node.model_copy(update={"op": "aten.select.int", "args": args})
    if of.op not in ("aten.split_with_sizes.default", "aten.split.Tensor"):
        return None
    axis = int(given[1]) if len(given) > 1 else 0
    told: Any = given[0]
    sizes = [int(told)] * (place + 1) if isinstance(told, int) else list[int](told)
    begin, size = sum(sizes[:place]), (node.shape or ())[axis]
    args = (source, axis, begin, begin + size)
    return node.model_copy(update={"op": "aten.slice.Tensor", "args": args})


def _divisor(node: GraphNode) -> int:
    """What an average over a window divides by, where that is the same everywhere; else 0."""
    given: list[Any] = [*node.args, *([], [0], False, True, None)[len(node.args) - 2 :]]
    _, sizes, _, padding, hangs, counts_padding, divisor = given
    if hangs or (any(padding) and not counts_padding and divisor is None):
        return 0
    return 0 if divisor == 1 else int(divisor or prod(sizes))


def _average(node: GraphNode, divisor: int) -> Iterator[GraphNode]:
    """The sum over a window, divided."""
    given = [*node.args, *([], [0], False, True, None)[len(node.args) - 2 :]]
    whole = f"{node.name}_sum"
    update: dict[str, Any] = {"name": whole, "args": (*given[:6], 1), "kwargs": {}, "values": None}
    yield node.model_copy(update=update)
    args = ({"node": whole}, float(divisor))
    yield node.model_copy(update={"op": "aten.div.Tensor", "args": args, "kwargs": {}})


def _is_row_major(node: GraphNode, known: Mapping[str, GraphNode]) -> bool:
    """Whether it counts all of its source anew, row by row."""
    of, shape = known[node.args[0]["node"]], list(node.args[1])
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    counted, *offsets = node.args[2:]
    offset: Any = offsets[0] if offsets else 0
    return list(counted) == strides and prod(of.shape or ()) == prod(shape) and not offset


def _spread(
    node: GraphNode, given: Any, shape: Sequence[int], axes: Sequence[int]
) -> Iterator[GraphNode]:
    """A value whose dimensions take places in a larger shape, repeated along the others."""
    held = [n if axis in axes else 1 for axis, n in enumerate(shape)]
    name = f"{node.name}_held"
    update = {"name": name, "op": "aten.view.default", "args": (given, held), "values": None}
    yield node.model_copy(update={**update, "shape": tuple(held)})
    args = ({"node": name}, list(shape))
    yield node.model_copy(update={"op": "aten.expand.default", "args": args})


def _variance(node: GraphNode, known: Mapping[str, GraphNode]) -> Iterator[GraphNode]:
    """The mean of squared distances from the mean; their number less the correction divides."""
    of = known[node.args[0]["node"]]
    shape, axes = of.shape or (), list(cast("list[int]", node.args[1]))
    given: tuple[Any, ...] = node.args
    correction = float(given[2] if len(given) > 2 else 1.0)
    count = prod(shape[axis] for axis in axes)
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    small, held = tuple(shape[axis] for axis in kept), list(shape)
    for axis in axes:
        held[axis] = 1

    def made(suffix: str, op: str, *args: object, size: Sequence[int]) -> GraphNode:
        name = f"{node.name}_{suffix}" if suffix else node.name
        return GraphNode(name=name, op=op, args=args, shape=tuple(size), dtype=node.dtype)

    whole = made("sum", "aten.sum.dim_IntList", {"node": of.name}, axes, size=small)
    yield whole
    spread = made("spread", "", size=held)
    yield from _spread(spread, {"node": whole.name}, held, kept)
    mean = made("mean", "aten.div.Tensor", {"node": spread.name}, float(count), size=held)
    away = made("away", "aten.sub.Tensor", {"node": of.name}, {"node": mean.name}, size=shape)
    twice = ({"node": away.name}, {"node": away.name})
    square = made("square", "aten.mul.Tensor", *twice, size=shape)
    squares = made("squares", "aten.sum.dim_IntList", {"node": square.name}, axes, size=small)
    yield from (mean, away, square, squares)
    by = float(count) - correction
    yield made("", "aten.div.Tensor", {"node": squares.name}, by, size=small)


def without_repeats(
    nodes: Sequence[GraphNode], outputs: Sequence[str]
) -> tuple[tuple[GraphNode, ...], tuple[str, ...]]:
    """Each value once, and the outputs by their first names: what the same operator makes of the
    same operands is the same."""
    first, names = dict[str, str](), dict[str, str]()
    kept = list[GraphNode]()
    for node in nodes:
        one = renamed(node, names)
        key = json.dumps([one.op, one.args, one.kwargs], sort_keys=True)
        if one.op and key in first:
            names[node.name] = first[key]
            continue
        first[key] = names[node.name] = node.name
        kept.append(one)
    return tuple(kept), tuple(names[name] for name in outputs)


def renamed(node: GraphNode, names: Mapping[str, str]) -> GraphNode:
    """With other names for what it is made of, where they have others."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict) and "node" in value:
            return {"node": names[cast("dict[str, str]", value)["node"]]}
        if isinstance(value, list | tuple):
            return [plain(each) for each in cast("list[Any]", value)]
        return cast("Any", value)

    args = tuple(plain(each) for each in node.args)
    return node.model_copy(
        update={"args": args, "kwargs": {k: plain(v) for k, v in node.kwargs.items()}}
    )
