"""`search_state.json`: a search's graph for people and scripts, each node with its value, the way
that led to it and where its source lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...store.records import VariantRecord
from ..engine.backup import refresh_all
from ..engine.work import ledger_of
from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..graph.records import edge_record, node_record
from ..stored.records import SearchRecord
from .formats import EdgeState, NodeState, SearchState


def search_state(
    search: SearchRecord,
    graph: Graph,
    variants: Mapping[str, VariantRecord],
    place: Callable[[str], Path],
) -> SearchState:
    """The whole file. `place`: where a variant's source lies, from the kernel's folder."""
    refresh_all(graph, search.settings)
    ledger = ledger_of(graph)
    return SearchState(
        search=search,
        builds=ledger.builds,
        evaluations=ledger.steps,
        incumbent=ledger.incumbent,
        nodes=tuple(_node(graph, node, variants, place(node.key)) for node in graph.nodes.values()),
        edges=tuple(_edge(graph, edge) for edge in graph.edges.values()),
    )


def _node(
    graph: Graph, node: Node, variants: Mapping[str, VariantRecord], source: Path
) -> NodeState:
    return NodeState(
        **node_record(graph, node),
        depth=graph.depth(node.key),
        available=node.available,
        reward=node.reward,
        q=node.value,
        q_interval=(node.backed.low, node.backed.high),
        methods=tuple(_methods(node.key, variants)),
        files=str(source.parent),
        source=str(source),
    )


def _methods(variant_id: str, variants: Mapping[str, VariantRecord]) -> list[str]:
    """Those of the variant and of what it was made from, the first one first."""
    found, seen, here = list[str](), set[str](), variants.get(variant_id)
    while here is not None and here.parent is not None and here.parent not in seen:
        seen.add(here.parent)
        found.append(here.method)
        here = variants.get(here.parent)
    return found[::-1]


def _edge(graph: Graph, edge: Edge) -> EdgeState:
    """The texts of its candidate lie with the variant."""
    record = edge_record(edge)
    candidate = {k: v for k, v in record["candidate"].items() if k not in ("source", "diff")}
    q = None if edge.child is None else graph.nodes[edge.child].value
    return EdgeState.model_validate({**record, "candidate": candidate, "q": q})
