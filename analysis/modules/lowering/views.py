"""Views: which element of its source an element of a view is. Indices are expressions of C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ....runners.modules.common.graphs import GraphNode

Indices = tuple[str, ...]
Shape = tuple[int, ...]


def row_major(shape: Shape, indices: Sequence[str]) -> str:
    """Where an element lies in memory; dimensions of one element have no say."""
    parts = list[str]()
    for axis, index in enumerate(indices):
        stride = prod(shape[axis + 1 :])
        if shape[axis] > 1 and index != "0":
            parts.append(index if stride == 1 else f"{_atom(index)} * {stride}")
    return " + ".join(parts) or "0"


def source_indices(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    """The element of its source that an element of a view is. Raises KeyError for what is none."""
    return VIEWS[node.op](node, source, indices)


def is_view(node: GraphNode) -> bool:
    """Whether it moves no data: an element of it is one of its source."""
    return node.op in VIEWS


def _atom(index: str) -> str:
    return index if index.isidentifier() or index.isdigit() else f"({index})"


def _axis(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


def _reshaped(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    shape = node.shape or ()
    wide = [(n, i) for n, i in zip(shape, indices, strict=True) if n > 1]
    if [n for n, _ in wide] == [n for n in source if n > 1]:
        kept = iter(i for _, i in wide)
        return tuple(next(kept) if n > 1 else "0" for n in source)
    place, found = row_major(shape, indices), list[str]()
    for axis, size in enumerate(source):
        stride = prod(source[axis + 1 :])
        index = place if stride == 1 else f"({place}) / {stride}"
        inner = axis and prod(source[:axis]) > 1
        found.append("0" if size == 1 else f"({index}) % {size}" if inner else index)
    return tuple(found)


def _permuted(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    found = ["0"] * len(source)
    for to, axis in enumerate(node.args[1]):
        found[_axis(axis, len(source))] = indices[to]
    return tuple(found)


def _exchanged(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    found, rank = list(indices), len(source)
    one, two = (_axis(axis, rank) for axis in node.args[1:3])
    found[one], found[two] = found[two], found[one]
    return tuple(found)


def _expanded(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    last = indices[len(indices) - len(source) :]
    return tuple("0" if n == 1 else i for n, i in zip(source, last, strict=True))


def _sliced(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    given: tuple[Any, ...] = (*node.args[1:], *(0, 0, None, 1)[len(node.args) - 1 :])
    axis, step = _axis(given[0], len(source)), int(given[3])
    size, start = source[axis], int(given[1] or 0)
    begin = min(max(0, start + (size if start < 0 else 0)), size)
    found = list(indices)
    scaled = found[axis] if step == 1 else f"{_atom(found[axis])} * {step}"
    found[axis] = scaled if begin == 0 else f"{scaled} + {begin}"
    return tuple(found)


def _selected(node: GraphNode, source: Shape, indices: Indices) -> Indices:
    axis = _axis(node.args[1], len(source))
    place = _axis(node.args[2], source[axis])
    return (*indices[:axis], str(place), *indices[axis:])


VIEWS: Mapping[str, Callable[[GraphNode, Shape, Indices], Indices]] = {
    "aten.view.default": _reshaped,
    "aten.reshape.default": _reshaped,
    "aten._unsafe_view.default": _reshaped,
    "aten.unsqueeze.default": _reshaped,
    "aten.squeeze.dim": _reshaped,
    "aten.squeeze.dims": _reshaped,
    "aten.squeeze.default": _reshaped,
    "aten.permute.default": _permuted,
    "aten.t.default": lambda node, source, indices: tuple(reversed(indices)),
    "aten.transpose.int": _exchanged,
    "aten.expand.default": _expanded,
    "aten.slice.Tensor": _sliced,
    "aten.select.int": _selected,
}


def broadcast(source: Shape, indices: Indices) -> Indices:
    """An element of an operand where it is broadcast to a shape of more dimensions."""
    last: Sequence[Any] = indices[len(indices) - len(source) :]
    return tuple("0" if n == 1 else i for n, i in zip(source, last, strict=True))
