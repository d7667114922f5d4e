"""What a planner sees of a node: the caller's context with what the search knows of it."""

from __future__ import annotations

from dataclasses import replace

from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..graph.rewards import speedup_of
from ..planning.planner import Context, Statistics, Tried, without_held_out
from ..policies.selection import slots
from ..settings import Settings


def context_at(graph: Graph, node: Node, given: Context, settings: Settings) -> Context:
    """The context `given` for a node, without held-out workloads and with all that was tried."""
    statistics = Statistics(
        visits=node.visits,
        ending=node.ending,
        speedup=node.speedup,
        interval=node.interval,
        best_speedup=speedup_of(node.best.value, settings),
        message=_why(graph, node),
    )
    return replace(
        given,
        state=replace(given.state, spec=without_held_out(given.spec)),
        statistics=statistics,
        history=tuple(_tried(graph, e) for e in graph.edges_of(node.key)),
        wanted=max(slots(graph, node, settings), 1),
        new_code=graph.known_code.chance,
    )


def _why(graph: Graph, node: Node) -> str:
    """Why a variant failed, as the last evaluation that led to it said."""
    links = graph.links_to(node.key)
    return links[-1].message if node.failed and links else ""


def _tried(graph: Graph, edge: Edge) -> Tried:
    speedup = None if edge.child is None else graph.nodes[edge.child].speedup
    # Without a validation: the candidate was validated, and a node has hundreds of them.
    return Tried.model_construct(
        candidate=edge.candidate, ending=edge.ending, speedup=speedup, message=edge.message
    )
