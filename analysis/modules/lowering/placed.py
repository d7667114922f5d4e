"""Operators whose element is one of another array, at a place that is computed or read: pieces side
by side, padding, and rows by their number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode
from .pointwise import TRUTH, literal
from .views import Indices, broadcast

Value = Callable[[str, Indices], str]
"""an element of a value, by its name and indices"""
Shapes = Callable[[str], tuple[int, ...]]


def element_of(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    """An element of it. Raises KeyError for an operator that is none of `PLACED`."""
    return PLACED[node.op](node, indices, value, shape)


def name_of(argument: Any) -> str:
    """The value that an argument is."""
    return str(cast("dict[str, Any]", argument)["node"])


def _at(indices: Indices, axis: int, index: str) -> Indices:
    return (*indices[:axis], index, *indices[axis + 1 :])


def axis_of(axis: int, rank: int) -> int:
    """A dimension counted from the front."""
    return axis + rank if axis < 0 else axis


def _side_by_side(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    placed, *axes = node.args
    axis = axis_of(int(axes[0]) if axes else 0, len(indices))
    pieces, begins, begin = list[str](), list[int](), 0
    for each in placed:
        size = shape(name_of(each))[axis]
        place = indices[axis] if not begin else f"({indices[axis]} - {begin})"
        pieces.append(value(name_of(each), _at(indices, axis, "0" if size == 1 else place)))
        begins.append(begin)
        begin += size
    found = pieces[-1]
    for piece, end in zip(reversed(pieces[:-1]), reversed(begins[1:]), strict=True):
        found = f"({indices[axis]} < {end} ? {piece} : {found})"
    return found


def _padded(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    source, pads = name_of(node.args[0]), node.args[1]
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
    row = value(name_of(node.args[1]), indices[:-1])
    return value(name_of(node.args[0]), (f"(int){row}", indices[-1]))


def _selected(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    axis = axis_of(int(node.args[1]), len(indices))
    index = name_of(node.args[2])
    row = value(index, (indices[axis],) if shape(index) else ())
    return value(name_of(node.args[0]), _at(indices, axis, f"(int){row}"))


def _gathered(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    axis = axis_of(int(node.args[1]), len(indices))
    row = value(name_of(node.args[2]), indices)
    return value(name_of(node.args[0]), _at(indices, axis, f"(int){row}"))


def indexed_axes(places: Sequence[Any]) -> tuple[int, list[str]] | None:
    """Which dimensions `x[:, a, b]` takes places of: the first, and the places of each. None where
    they stand apart, as they come first in the result then."""
    taken = [axis for axis, each in enumerate(places) if each]
    if not taken or taken != list(range(taken[0], taken[-1] + 1)):
        return None
    return taken[0], [name_of(places[axis]) for axis in taken]


def spread_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all of these are broadcast to."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(each)) + each for each in shapes]
    return tuple(max(sizes) for sizes in zip(*padded, strict=True))


def _indexed(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    source = name_of(node.args[0])
    first, names = cast("tuple[int, list[str]]", indexed_axes(node.args[1]))
    spread = spread_shape([shape(name) for name in names])
    places, rows = indices[first : first + len(spread)], list[str]()
    for k, name in enumerate(names):
        row, size = value(name, broadcast(shape(name), places)), shape(source)[first + k]
        rows.append("0" if size == 1 else f"(int)({row} < 0 ? {row} + {size} : {row})")
    return value(source, (*indices[:first], *rows, *indices[first + len(spread) :]))


def _nearest(node: GraphNode, indices: Indices, value: Value, shape: Shapes) -> str:
    source = name_of(node.args[0])
    whole, places = node.shape or (), list[str]()
    for axis, size in enumerate(shape(source)):
        by = whole[axis] // size
        places.append("0" if size == 1 else indices[axis] if by == 1 else f"{indices[axis]} / {by}")
    return value(source, tuple(places))


def why_not_placed(node: GraphNode, of: Mapping[str, GraphNode]) -> str:
    """Why no kernel is written for one of `PLACED`; empty: one is."""
    if node.op == "aten.index.Tensor":
        if any(of[name_of(each)].dtype == TRUTH for each in node.args[1] if each):
            return f"{node.op} whose places a mask chooses"
        return "" if indexed_axes(node.args[1]) else f"{node.op} whose indices stand apart"
    if node.op in NEAREST:
        source = of[name_of(node.args[0])].shape or ()
        even = all(n % m == 0 for n, m in zip(node.shape or (), source, strict=True))
        return "" if even else f"{node.op} by no whole number"
    return ""


NEAREST = tuple(f"aten.upsample_nearest{n}d.vec" for n in (1, 2, 3))
PLACED: Mapping[str, Callable[[GraphNode, Indices, Value, Shapes], str]] = {
    "aten.cat.default": _side_by_side,
    "aten.constant_pad_nd.default": _padded,
    "aten.embedding.default": _rows,
    "aten.index_select.default": _selected,
    "aten.gather.default": _gathered,
    "aten.index.Tensor": _indexed,
    **dict.fromkeys(NEAREST, _nearest),
}
