"""Operators whose element is one of another array, at a place that is computed or read: pieces side
by side, padding, and rows by their number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode
from .pointwise import literal
from .views import Indices

Value = Callable[[str, Indices], str]
"""an element of a value, by its name and indices"""
Shapes = Callable[[str], tuple[int, ...]]


def element_of(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    """An element of it. Raises KeyError for an operator that is none of `PLACED`."""
    return PLACED[node.op](node, indices, value, shape)


def _name(argument: Any) -> str:
    return str(cast("dict[str, Any]", argument)["node"])


def _at(indices: Indices, axis: int, index: str) -> Indices:
    return (*indices[:axis], index, *indices[axis + 1 :])


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _side_by_side(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    placed, *axes = node.args
    axis = _axis(int(axes[0]) if axes else 0, len(indices))
    pieces, begins, begin = list[str](), list[int](), 0
    for each in placed:
        size = shape(_name(each))[axis]
        place = indices[axis] if not begin else f"({indices[axis]} - {begin})"
        pieces.append(value(_name(each), _at(indices, axis, "0" if size == 1 else place)))
        begins.append(begin)
        begin += size
    found = pieces[-1]
    for piece, end in zip(reversed(pieces[:-1]), reversed(begins[1:]), strict=True):
        found = f"({indices[axis]} < {end} ? {piece} : {found})"
    return found


def _padded(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    source, pads = _name(node.args[0]), node.args[1]
    sizes, rank, conditions, places = shape(source), len(indices), list[str](), list(indices)
    for number in range(len(pads) // 2):
        axis, before, after = rank - 1 - number, pads[2 * number], pads[2 * number + 1]
        place = f"({indices[axis]} - {before})" if before else indices[axis]
        places[axis] = "0" if sizes[axis] == 1 else place
        conditions += [f"{place} >= 0"] if before > 0 else []
        conditions += [f"{place} < {sizes[axis]}"] if after > 0 else []
    inside = value(source, tuple(places))
    outside = literal(node.args[2] if len(node.args) > 2 else 0)
    return f"({' && '.join(conditions)} ? {inside} : {outside})" if conditions else inside


def _rows(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    row = value(_name(node.args[1]), indices[:-1])
    return value(_name(node.args[0]), (f"(int){row}", indices[-1]))


def _selected(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    axis = _axis(int(node.args[1]), len(indices))
    index = _name(node.args[2])
    row = value(index, (indices[axis],) if shape(index) else ())
    return value(_name(node.args[0]), _at(indices, axis, f"(int){row}"))


def _gathered(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    axis = _axis(int(node.args[1]), len(indices))
    row = value(_name(node.args[2]), indices)
    return value(_name(node.args[0]), _at(indices, axis, f"(int){row}"))


PLACED: Mapping[str, Callable[[GraphNode, Indices, Value, Shapes], str]] = {
    "aten.cat.default": _side_by_side,
    "aten.constant_pad_nd.default": _padded,
    "aten.embedding.default": _rows,
    "aten.index_select.default": _selected,
    "aten.gather.default": _gathered,
}
