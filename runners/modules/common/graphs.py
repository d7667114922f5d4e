"""The graph of one call: operators of ATen with shapes, types and what their values are like."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ...model import Record


class Values(Record):
    """What a tensor's numbers were like in one call."""

    low: float
    high: float
    mean: float
    std: float


class GraphNode(Record):
    """One value. `args` and `kwargs` are JSON; another value in them is {"node": NAME}, a type
    {"dtype": NAME}, and what JSON cannot say {"float": "inf"}."""

    name: str
    op: str
    """`aten.mm.default`; empty for what the call is given"""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    shape: tuple[int, ...] | None = None
    """None: it is no tensor"""
    dtype: str = ""
    given: str = ""
    """of what the call is given: `input 0`, or `state linear.weight`"""
    contiguous: bool = True
    values: Values | None = None


class ModuleGraph(Record):
    """All values of a call in an order in which they can be computed."""

    kind: Literal["graph"] = "graph"
    nodes: tuple[GraphNode, ...]
    outputs: tuple[str, ...]
    one_output: bool
    """the module returns a tensor, not a tuple of them"""
    changed: dict[str, str] = Field(default_factory=dict)
    """values that the call leaves in the module's buffers, such as running statistics: where"""


class InductorCode(Record):
    """The Python that Inductor wrote for a call, and its graph after all passes."""

    kind: Literal["inductor"] = "inductor"
    code: str
    graph: ModuleGraph
