"""Search graphs that were evaluated once, in the compact form in which they are kept as data.

A recorded graph holds what evaluations said and which candidate led where, and no source: it
can be searched again (`replay.graph_world`) but not built. Files hold several, compressed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from typing import Self

from pydantic import Field, TypeAdapter, model_validator

from kernelwright.runners.model import Ending, Record
from kernelwright.search.graph.graph import Graph
from kernelwright.search.graph.nodes import Edge


class RecordedNode(Record):
    """A variant and how its evaluation ended."""

    key: str = Field(min_length=1)
    """variant id"""
    ending: Ending
    speedup: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """over the root; where the ending is a measured one, and only there"""
    interval: tuple[float, float] | None = None
    """95 % interval of the speedup"""
    code: str | None = None
    """hash of the machine code with its plan; None: unknown, or not built"""
    bottleneck: str = ""
    """what bounds the variant; empty: unknown"""

    @model_validator(mode="after")
    def _measured(self) -> Self:
        if self.ending.measured != (self.speedup is not None):
            raise ValueError(f"{self.key} ended as `{self.ending}` with speedup {self.speedup}")
        return self


class RecordedEdge(Record):
    """A candidate that was proposed from a node."""

    parent: str
    method: str = Field(min_length=1)
    """canonical move id, or free text"""
    detail: str = ""
    """what the method did, in words; with the method it tells a node's candidates apart"""
    prior: float = Field(gt=0, allow_inf_nan=False)
    """weight relative to an average candidate of the same node"""
    child: str | None = None
    """variant id; None: it was never evaluated, or gave no variant"""
    ending: Ending | None = None
    """None: it was never evaluated"""


class RecordedGraph(Record):
    """One kernel's variants, as far as they were evaluated. Nodes and edges are in the order in
    which they were found."""

    kernel: str
    """name"""
    language: str
    """cpp, cuda or triton"""
    arch: str
    """such as sm_90a; the processor for host C++"""
    root: str
    """variant id of the baseline"""
    nodes: tuple[RecordedNode, ...]
    edges: tuple[RecordedEdge, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        known = {node.key for node in self.nodes}
        if len(known) < len(self.nodes):
            raise ValueError("two nodes have the same key")
        if self.root not in known:
            raise ValueError(f"the root `{self.root}` is not among the nodes")
        for edge in self.edges:
            if not {edge.parent, edge.child or self.root} <= known:
                raise ValueError(f"an edge from `{edge.parent}` to `{edge.child}` lacks a node")
            if edge.child is not None and edge.ending is None:
                raise ValueError(f"an edge led to `{edge.child}` without an ending")
        return self

    @property
    def best(self) -> RecordedNode:
        """The node with the largest speedup of those that ended as a fact; the root at least."""
        final = (n for n in self.nodes if n.speedup is not None and n.ending.final)
        return max(final, key=lambda n: n.speedup or 0.0)


Graphs = TypeAdapter(tuple[RecordedGraph, ...])


def recorded(graph: Graph, kernel: str, language: str, arch: str) -> RecordedGraph:
    """A search's graph in compact form: what was pruned or never evaluated has no ending."""
    return RecordedGraph(
        kernel=kernel,
        language=language,
        arch=arch,
        root=graph.root_key,
        nodes=tuple(
            RecordedNode(key=n.key, ending=n.ending, speedup=n.speedup, interval=n.interval)
            for n in graph.nodes.values()
        ),
        edges=tuple(_recorded_edge(edge) for edge in graph.edges.values()),
    )


def _recorded_edge(edge: Edge) -> RecordedEdge:
    return RecordedEdge(
        parent=edge.parent,
        method=edge.candidate.method,
        detail=edge.candidate.detail,
        prior=edge.prior,
        child=edge.child,
        ending=edge.ending,
    )


def graphs_to_bytes(graphs: Iterable[RecordedGraph]) -> bytes:
    """A file's content: gzip of a JSON array; the same graphs give the same bytes."""
    objects = [graph.model_dump(mode="json", exclude_defaults=True) for graph in graphs]
    return gzip.compress(json.dumps(objects, separators=(",", ":")).encode(), mtime=0)


def graphs_from_bytes(content: bytes) -> tuple[RecordedGraph, ...]:
    """What `graphs_to_bytes` wrote. Raises ValueError (pydantic) on what is no such file."""
    return Graphs.validate_json(gzip.decompress(content))
