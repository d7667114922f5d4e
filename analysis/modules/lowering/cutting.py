"""Which values of a graph meet memory: one kernel for each of them, or a call of ATen.

Elementwise operators and views are computed where they are read. Stored are: what the module
returns; what a call of ATen is given and gives; sums and products, unless what reads them reads
the very element (then they are one kernel with it); what is dear and read more than once; and
operands of products that are more than a view, as each element of them is read many times. What is
dear and read more than once by one kernel alone, at its own place, is computed in it: compilers
find the same expression again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode, ModuleGraph
from .by_place import is_by_place, why_not_by_place
from .expansion import expanded, own_names, without_repeats
from .libraries import CONVOLUTION, left_to_libraries
from .placed import PLACED, why_not_placed
from .pointwise import DEAR, DTYPES, ELEMENTWISE, FLOAT, OF_FLOAT, OF_TRUTH, TRUTH, UNARY, WHOLE
from .sums import PLACES, PRODUCTS, WINDOWS, is_sum, window_of
from .views import is_view

MOST_TIMES = 32
"""that the text of a dear value may stand in one kernel"""


@dataclass(frozen=True)
class Kernel:
    """A value that a kernel of its own writes."""

    name: str
    sum: str | None
    """the sum or product that is one kernel with it; may be itself"""


@dataclass(frozen=True)
class Call:
    """A value that ATen computes: no kernel is cut for it, and why."""

    name: str
    why: str


@dataclass(frozen=True)
class Cut:
    """A graph in steps."""

    nodes: Mapping[str, GraphNode]
    stored: frozenset[str]
    steps: tuple[Kernel | Call, ...]
    outputs: tuple[str, ...]
    changed: tuple[tuple[str, str], ...] = ()
    """values that are left in the module's buffers, and where"""

    def shape(self, name: str) -> tuple[int, ...]:
        """Of a value; of no tensor, that of a number."""
        return self.nodes[name].shape or ()


def cut(graph: ModuleGraph, *, libraries: bool = False) -> Cut:
    """Cut a graph into kernels and calls, in an order in which they can run. `libraries`: products
    of a library's sizes are calls."""
    graph = own_names(graph)
    wanted = (*graph.outputs, *graph.changed)
    ordered, outputs = without_repeats(expanded(graph.nodes), wanted)
    ordered = _needed(ordered, outputs)
    nodes = {node.name: node for node in ordered}
    users = _users(ordered, outputs)
    calls = {n.name: why for n in ordered if n.op and (why := _why_not(n, nodes))}
    if libraries:
        calls |= left_to_libraries(ordered, users)
    stored = {n.name for n in ordered if not n.op} | set(calls) | set(outputs)
    for name in calls:
        stored |= set(operands(nodes[name]))
    stored = {n for n in stored if nodes[n].shape is not None or n in calls}
    for node in ordered:
        if is_sum(node) and node.op in PRODUCTS:
            stored |= {o for o in operands(node) if not _is_read_as_stored(o, nodes, stored)}
        if node.name in stored or not node.op or len(users[node.name]) < 2:
            continue
        if _is_of_one_kernel(node.name, nodes, users, stored):
            continue
        if _is_dear(node, nodes, stored) or _ends_a_sum(node, nodes, users, stored):
            stored.add(node.name)
    sums = _placed_sums(ordered, nodes, users, stored)
    steps = [
        Call(n.name, calls[n.name]) if n.name in calls else Kernel(n.name, sums.get(n.name))
        for n in ordered
        if n.op and n.name in stored
    ]
    count = len(graph.outputs)
    changed = tuple(zip(outputs[count:], graph.changed.values(), strict=True))
    return Cut(nodes, frozenset(stored), tuple(steps), outputs[:count], changed)


def _needed(ordered: Sequence[GraphNode], outputs: Sequence[str]) -> tuple[GraphNode, ...]:
    """What the call is given, and what its results are made of."""
    nodes, wanted, open_ones = {node.name: node for node in ordered}, set[str](), list(outputs)
    while open_ones:
        name = open_ones.pop()
        if name not in wanted:
            wanted.add(name)
            open_ones += operands(nodes[name])
    return tuple(node for node in ordered if node.given or node.name in wanted)


def operands(node: GraphNode) -> tuple[str, ...]:
    """Names of the values that it is made of."""
    return tuple(_named([*node.args, *node.kwargs.values()]))


def _named(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, dict) and "node" in value:
            yield str(cast("dict[str, Any]", value)["node"])
        elif isinstance(value, list):
            yield from _named(cast("list[Any]", value))


def _users(ordered: Sequence[GraphNode], outputs: Sequence[str]) -> dict[str, set[str]]:
    found = {node.name: set[str]() for node in ordered}
    for node in ordered:
        for operand in operands(node):
            found[operand].add(node.name)
    for name in outputs:
        found[name].add("")
    return found


def _why_not(node: GraphNode, nodes: Mapping[str, GraphNode]) -> str:
    """Why an operator is left to ATen; empty: it is not."""
    if node.op == "aten.convolution.default":
        return CONVOLUTION
    if not (node.op in ELEMENTWISE or is_view(node) or is_sum(node) or node.op in PLACED):
        return f"no kernel is written for {node.op}"
    if why := _why_not_as_given(node, nodes):
        return why
    if any("other" in each for each in node.args if isinstance(each, dict)):
        return f"{node.op} is given something that is no number"
    return _why_not_in_type(node, nodes)


def _why_not_as_given(node: GraphNode, nodes: Mapping[str, GraphNode]) -> str:
    """The same, by its arguments."""
    if node.op in WINDOWS and window_of(node) is None:
        return f"{node.op} whose windows hang over the edge"
    if node.op in PLACES and (len(node.args) < 2 or node.args[1] is None):
        return f"{node.op} over all dimensions"
    if node.op in PLACED:
        return why_not_placed(node, nodes)
    if is_by_place(node):
        return why_not_by_place(node, lambda name: nodes[name].shape or ())
    return ""


def _why_not_in_type(node: GraphNode, nodes: Mapping[str, GraphNode]) -> str:
    """The same, by types and sizes."""
    for each in (node, *(nodes[o] for o in operands(node))):
        if each.dtype not in DTYPES or 0 in (each.shape or ()):
            return f"{each.name} is {each.dtype or 'no tensor'} of shape {list(each.shape or ())}"
    if node.op in OF_TRUTH and node.dtype != TRUTH:
        return f"bits of {node.dtype}"
    if node.op in OF_FLOAT and any(nodes[o].dtype != FLOAT for o in operands(node)):
        return f"{node.op} of whole numbers"
    if is_sum(node) and node.dtype != FLOAT and node.op not in PLACES:
        return f"a sum of {node.dtype}"
    if node.dtype in WHOLE and node.shape == ():
        return "a count, a single whole number"
    return ""


def _is_read_as_stored(name: str, nodes: Mapping[str, GraphNode], stored: set[str]) -> bool:
    """Whether reading an element of it is reading memory: it is stored, or a view of what is."""
    while name not in stored and is_view(nodes[name]):
        name = operands(nodes[name])[0]
    return name in stored


def _is_dear(node: GraphNode, nodes: Mapping[str, GraphNode], stored: set[str]) -> bool:
    """Whether computing it again costs more than a load: a function, or a sum, is in it."""
    open_ones = [node.name]
    while open_ones:
        each = nodes[open_ones.pop()]
        if each.op.startswith("aten.pow") or any(d in UNARY.get(each.op, "") for d in DEAR):
            return True
        if each.name not in stored and not is_sum(each):
            open_ones += operands(each)
    return False


def _is_of_one_kernel(
    name: str, nodes: Mapping[str, GraphNode], users: Mapping[str, set[str]], stored: set[str]
) -> bool:
    """Whether all that reads it leads, element by element, to one stored value, and its expression
    stands in that one's a few times at most."""
    shape, ends, paths, open_ones = nodes[name].shape, set[str](), 0, [name]
    while open_ones:
        for user in users[open_ones.pop()]:
            if not user or nodes[user].op not in ELEMENTWISE or nodes[user].shape != shape:
                return False
            if user in stored:
                ends.add(user)
                paths += 1
            else:
                open_ones.append(user)
        if paths + len(open_ones) > MOST_TIMES:
            return False
    return len(ends) == 1


def _ends_a_sum(
    node: GraphNode,
    nodes: Mapping[str, GraphNode],
    users: Mapping[str, set[str]],
    stored: set[str],
) -> bool:
    """Whether it is all that is made of a sum, and is read elsewhere than at its own place: one
    kernel with the sum then, and read from memory as the sum itself would be."""
    elsewhere = any(not u or is_sum(nodes[u]) or is_view(nodes[u]) for u in users[node.name])
    if not elsewhere or node.op not in ELEMENTWISE:
        return False
    same = _read_at_the_same_place(node, nodes, stored)
    sums = [each for each in same if is_sum(nodes[each])]
    return len(sums) == 1 and _serves_alone(sums[0], node.name, same, users)


def _placed_sums(
    ordered: Sequence[GraphNode],
    nodes: Mapping[str, GraphNode],
    users: Mapping[str, set[str]],
    stored: set[str],
) -> dict[str, str]:
    """By stored value the sum that is one kernel with it; all other sums become stored."""
    found = {n.name: n.name for n in ordered if n.name in stored and is_sum(n)}
    taken = set(found)
    for node in ordered:
        if node.name not in stored or not node.op or node.name in found:
            continue
        same = _read_at_the_same_place(node, nodes, stored)
        sums = [each for each in same if is_sum(nodes[each]) and each not in taken]
        if len(sums) == 1 and _serves_alone(sums[0], node.name, same, users):
            found[node.name] = sums[0]
            taken.add(sums[0])
    for node in ordered:
        if is_sum(node) and node.name not in taken:
            stored.add(node.name)
            found[node.name] = node.name
    return found


def _read_at_the_same_place(
    node: GraphNode, nodes: Mapping[str, GraphNode], stored: set[str]
) -> set[str]:
    """Values whose element at the same place is all that an element of it needs of them."""
    found, open_ones = {node.name}, [node.name]
    while open_ones:
        each = nodes[open_ones.pop()]
        if is_sum(each) or each.op not in ELEMENTWISE:
            continue
        for operand in operands(each):
            if operand not in stored and nodes[operand].shape == node.shape:
                if operand not in found:
                    open_ones.append(operand)
                found.add(operand)
    return found


def _serves_alone(name: str, to: str, same: set[str], users: Mapping[str, set[str]]) -> bool:
    """Whether everything that is made of it is made on the way to one stored value."""
    open_ones, seen = [name], set[str]()
    while open_ones:
        each = open_ones.pop()
        if each == to or each in seen:
            continue
        seen.add(each)
        if not users[each] <= same:
            return False
        open_ones += users[each]
    return True
