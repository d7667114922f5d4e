"""A recorded graph as a world: at a node the planner proposes what was evaluated from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from kernelwright.runners.model import Candidate, Ending
from kernelwright.search.engine.work import Evaluate
from kernelwright.search.planning.planner import Context, Planner, PlannerRun
from replay.recorded import RecordedEdge, RecordedGraph
from replay.world import Found, World

BASELINE: Final = "baseline"
"""what stands for a method at the root"""
EDGE: Final = "edge"
"""the parameter of a replayed candidate: the number of its edge in the recorded graph"""

Prior = Callable[[RecordedEdge, str], float]
"""weight of a candidate, given the method that led to its node (`BASELINE` at the root)"""


def recorded_prior(edge: RecordedEdge, previous_method: str) -> float:
    """The candidate's weight as it was recorded."""
    return edge.prior


def graph_world(graph: RecordedGraph, prior: Prior = recorded_prior) -> World:
    """The world of a recorded graph; what was never evaluated, or lost, is not proposed."""
    nodes = {node.key: node for node in graph.nodes}

    def look_up(work: Evaluate) -> Found:
        edge = graph.edges[(work.candidate.parameters or {})[EDGE]]
        node = None if edge.child is None else nodes[edge.child]
        if node is None:
            return Found(edge.ending or Ending.rejected)
        return Found(node.ending, node.key, node.speedup, node.interval, node.code)

    return World(graph.root, _planner(graph, prior), look_up)


def methods_to(graph: RecordedGraph) -> dict[str, str]:
    """The method that first led to each node, `BASELINE` for the root."""
    first = {graph.root: BASELINE}
    for edge in graph.edges:
        if edge.child is not None:
            first.setdefault(edge.child, edge.method)
    return first


def _planner(graph: RecordedGraph, prior: Prior) -> Planner:
    before = methods_to(graph)
    offers = defaultdict[str, list[Candidate]](list)
    for number, edge in enumerate(graph.edges):
        if edge.ending not in (None, Ending.lost):
            offers[edge.parent].append(
                Candidate(
                    method=edge.method,
                    detail=edge.detail,
                    parameters={EDGE: number},
                    prior=prior(edge, before.get(edge.parent, BASELINE)),
                )
            )
    for candidates in offers.values():
        candidates.sort(key=lambda c: -c.prior)

    def planner(context: Context) -> PlannerRun:
        yield from ()
        return untried(offers[context.variant_id], context)

    return planner


def untried(offered: list[Candidate], context: Context) -> tuple[Candidate, ...]:
    """The first candidates that were not proposed at the node before, as many as are wanted."""
    tried = {_values(t.candidate) for t in context.history}
    return tuple([c for c in offered if _values(c) not in tried][: context.wanted])


def _values(candidate: Candidate) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((candidate.parameters or {}).items()))
