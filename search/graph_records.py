"""A search graph as records for the store, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..runners.model import Candidate, Ending
from .graph import Edge, Graph, Node

JsonObject = dict[str, Any]


def node_record(graph: Graph, node: Node) -> JsonObject:
    """The facts of a node, for the store."""
    return {
        "key": node.key,
        "root": node.key == graph.root_key,
        "ending": node.ending.value,
        "speedup": node.speedup,
        "interval": None if node.interval is None else list(node.interval),
        "visits": node.visits,
        "exhausted": node.exhausted,
    }


def edge_record(edge: Edge) -> JsonObject:
    """The facts of an edge, for the store."""
    return {
        "edge_id": edge.edge_id,
        "parent": edge.parent,
        "candidate": edge.candidate.model_dump(mode="json", exclude_defaults=True),
        "prior": edge.prior,
        "state": edge.state,
        "child": edge.child,
        "variant": edge.variant,
        "same_code_as": edge.same_code_as,
        "closes_cycle": edge.closes_cycle,
        "ending": None if edge.ending is None else edge.ending.value,
        "message": edge.message,
        "visits": edge.visits,
        "steps": list(edge.steps),
        "builds": edge.builds,
        "duplicate": edge.duplicate,
        "became_incumbent": edge.became_incumbent,
        "rollout": edge.rollout,
    }


def graph_from_records(nodes: Iterable[JsonObject], edges: Iterable[JsonObject]) -> Graph:
    """The graph that `node_record` and `edge_record` described, in any order.

    Edges that were running are open again: nobody is evaluating them any more. Fields that older
    records lack have their defaults. What nodes are worth is not known until `backup.refresh` has
    run over all of them.
    """
    records = list(nodes)
    roots = [r["key"] for r in records if r["root"]]
    if len(roots) != 1:
        raise ValueError(f"a search graph has one root, these records have {len(roots)}")
    return Graph.of(roots[0], map(_node, records), map(_edge, edges))


def _node(record: JsonObject) -> Node:
    interval = record["interval"]
    return Node(
        key=record["key"],
        ending=Ending(record["ending"]),
        speedup=record["speedup"],
        interval=None if interval is None else (interval[0], interval[1]),
        visits=record["visits"],
        exhausted=record["exhausted"],
    )


def _edge(record: JsonObject) -> Edge:
    facts = dict(record)
    facts["candidate"] = Candidate.model_validate(record["candidate"])
    facts["state"] = "open" if record["state"] == "running" else record["state"]
    facts["ending"] = None if record["ending"] is None else Ending(record["ending"])
    facts["steps"] = tuple(record["steps"])
    return Edge(**facts)
