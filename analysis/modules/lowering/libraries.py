"""Products of matrices that are left to a library, and the views that go into and out of them.

What a library is good at, plain loops and rules do not reach: a search over such a product ends
slower than the library, after minutes. A kernel is cut for what is made of the product instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode
from .sums import PRODUCTS
from .views import is_view

LEAST_WORK = 1 << 26
"""multiplications: a product of fewer is over before it is launched, whoever computes it"""
LEAST_SIDE = 16
"""of each of its three dimensions: narrower ones are sums of rows, no product of tiles"""
CONVOLUTION = "a convolution, which a library computes"
OF_LIBRARY = "a product of a library's sizes"
AS_IT_LIES = "a view, handed on as it lies"
ANEW = ("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
"""views that count the same memory anew"""


def left_to_libraries(
    ordered: Sequence[GraphNode], users: Mapping[str, set[str]]
) -> dict[str, str]:
    """By name what a library computes of a graph, and why; `users`: of each value, "" for who asked
    for the whole."""
    nodes = {node.name: node for node in ordered}
    found = {n.name: OF_LIBRARY for n in ordered if _is_of_library(n, nodes)}
    for node in reversed(ordered):  # what reads a value comes after it
        if is_view(node) and users[node.name] and users[node.name] <= set(found):
            found[node.name] = AS_IT_LIES
    for node in ordered:
        if node.op in ANEW and users[node.name] == {""} and _operands(node)[0] in found:
            found[node.name] = AS_IT_LIES
    return found


def _is_of_library(node: GraphNode, nodes: Mapping[str, GraphNode]) -> bool:
    if node.op not in PRODUCTS or len(node.shape or ()) < 2:
        return False
    summed = (nodes[_operands(node)[0]].shape or (0,))[-1]
    sides = (*(node.shape or ())[-2:], summed)
    return min(sides) >= LEAST_SIDE and prod(node.shape or ()) * summed >= LEAST_WORK


def _operands(node: GraphNode) -> tuple[str, ...]:
    return tuple(_names(node.args))


def _names(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict) and "node" in value:
            yield str(cast("dict[str, Any]", value)["node"])
