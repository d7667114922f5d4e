"""A search graph as records for the store, and back.

Every step visits a whole path of nodes and edges, and all but its end changes in visits alone. So
that a step writes no more than its end, an edge remembers the walks that ended with it; a record's
visits are those of the first `walked` steps, and the others are counted again on load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...runners.model import Ending
from .graph import Graph
from .nodes import Edge, Node
from .proposal import Proposal

JsonObject = dict[str, Any]
_ENDINGS: Final = {None: None, **{ending.value: ending for ending in Ending}}


def node_record(graph: Graph, node: Node) -> JsonObject:
    """The facts of a node, for the store."""
    return {
        "key": node.key,
        "root": node.key == graph.root_key,
        "ending": node.ending.value,
        "speedup": node.speedup,
        "interval": None if node.interval is None else list(node.interval),
        "visits": node.visits,
        "walked": node.walked,
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
        "walked": edge.walked,
        "walks": list(edge.walks),
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
    graph = Graph.of(roots[0], map(_node, records), map(_edge, edges))
    _count_walks(graph)
    return graph


def numbers_of(path: Iterable[Edge]) -> str:
    """A path in brief, for `Edge.walks`."""
    return " ".join([edge.edge_id[1:].lstrip("0") or "0" for edge in path])


def _count_walks(graph: Graph) -> None:
    """Count the walks that records were not written anew for.

    Of one walk an edge or a node counts a step at most, so the order of walks does not matter.
    """
    edges = list(graph.edges.values())
    steps, lengths, texts = list[int](), list[int](), list[str]()
    for number, edge in enumerate(edges):
        if edge.walks:
            for step, walk in zip(edge.steps[-len(edge.walks) :], edge.walks, strict=True):
                steps.append(step)
                lengths.append(walk.count(" ") + 1 + bool(walk))
                texts.append(f"{walk} {number}")
    numbers = np.fromstring(" ".join(texts), dtype=np.int64, sep=" ")
    when = np.repeat(np.array(steps, dtype=np.int64), lengths)
    _count(edges, numbers, when)
    nodes = list(graph.nodes.values())
    places = {node.key: place for place, node in enumerate(nodes)}
    parents = np.fromiter((places[e.parent] for e in edges), np.int64, len(edges))
    _count(nodes, parents[numbers], when)


def _count(
    counted: Sequence[Node] | Sequence[Edge], places: NDArray[np.int64], steps: NDArray[np.int64]
) -> None:
    """Count a visit for each place and step that its record does not hold yet."""
    walked = np.fromiter((each.walked for each in counted), np.int64, len(counted))
    new = walked[places] <= steps
    visits = np.bincount(places[new], minlength=len(counted))
    np.maximum.at(walked, places[new], steps[new] + 1)
    for place in np.flatnonzero(visits).tolist():
        each = counted[place]
        each.visits, each.walked = each.visits + int(visits[place]), int(walked[place])


def _node(record: JsonObject) -> Node:
    interval = record["interval"]
    return Node(
        key=record["key"],
        ending=Ending(record["ending"]),
        speedup=record["speedup"],
        interval=None if interval is None else (interval[0], interval[1]),
        visits=record["visits"],
        walked=record.get("walked", 0),
        exhausted=record["exhausted"],
    )


def _edge(record: JsonObject) -> Edge:
    # Field by field, as this is done for every edge of a search that is resumed.
    known = record.get
    return Edge(
        record["edge_id"],
        record["parent"],
        Proposal(record["candidate"]),
        record["prior"],
        "open" if record["state"] == "running" else record["state"],
        record["child"],
        known("variant"),
        known("same_code_as"),
        known("closes_cycle", False),
        _ENDINGS[record["ending"]],
        record["message"],
        record["visits"],
        known("walked", 0),
        tuple(known("walks", ())),
        tuple(record["steps"]),
        known("builds", 0),
        known("duplicate", False),
        known("became_incumbent", False),
        known("rollout", 0),
    )
