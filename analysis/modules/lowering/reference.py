"""The truth of a kernel: the operators of ATen that it stands for, as a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ....runners.modules.common.graphs import GraphNode
from .cutting import Cut, operands

NUMBERS = ("float32",)
HEAD = (
    '"""The operators of the module that this kernel computes, in whatever type it is given."""\n'
)


def reference_text(cut: Cut, names: Sequence[str], reads: Sequence[str]) -> str:
    """`reference(a, b)` for stored values of a graph, from the stored values that are read."""
    lines = [f"    {line}" for line in calls(cut, names, reads)]
    head = f"def reference({', '.join(reads)}):"
    made = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return "\n".join([HEAD, "import torch", "", "", head, *lines, f"    return {made}", ""])


def calls(cut: Cut, names: Sequence[str], reads: Sequence[str]) -> list[str]:
    """The lines that compute values from others, each operator by its name."""
    wanted, open_ones = set[str](), list(names)
    while open_ones:
        each = open_ones.pop()
        if each not in wanted and (each not in reads or each in names):
            wanted.add(each)
            open_ones += operands(cut.nodes[each])
    like = next((r for r in reads if cut.nodes[r].dtype in NUMBERS), None)
    return [line(node, like) for node in cut.nodes.values() if node.name in wanted and node.op]


def line(node: GraphNode, like: str | None = None) -> str:
    """`mm = torch.ops.aten.mm.default(x, y)`. `like`: a value whose type takes float32's place, so
    that the same lines compute in float64."""
    if node.op == "python.getitem":
        return f"{node.name} = {_text(node.args[0], like)}[{node.args[1]}]"
    given = [_text(each, like) for each in node.args]
    given += [f"{key}={_text(each, like)}" for key, each in node.kwargs.items()]
    return f"{node.name} = torch.ops.{node.op}({', '.join(given)})"


def _text(value: Any, like: str | None) -> str:
    if isinstance(value, dict):
        told = cast("dict[str, str]", value)
        if "node" in told:
            return told["node"]
        if "dtype" in told:
            in_its_type = like is not None and told["dtype"] in NUMBERS
            return f"{like}.dtype" if in_its_type else f"torch.{told['dtype']}"
        return f"float({told['float']!r})"
    if isinstance(value, list):
        return f"[{', '.join(_text(each, like) for each in cast('list[Any]', value))}]"
    return repr(value)
