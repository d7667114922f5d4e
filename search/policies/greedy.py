"""Policy `greedy`: hill climbing, a yardstick."""

from __future__ import annotations

from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..graph.rewards import least_gain
from ..settings import Settings
from .selection import EXPAND, Choice, Policy, best_of, legal_arms


def greedy(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """Down to the best variant, then its candidates: the likeliest first, more when all are tried.

    First-improvement hill climbing: a child is followed as soon as something at or below it is
    better than the node by `min_gain` (low ends of the intervals). Nothing is left before all of
    its neighbours were tried, so widening does not bound it; what is exhausted gives way to the
    best of what is left below it. Equal values and priors: `rng`.
    """
    edges, _ = legal_arms(graph, node, settings)
    done = [(e, graph.nodes[e.child].best.low) for e in edges if e.child is not None]
    untried = [e for e in edges if e.child is None]
    top = max((value for _, value in done), default=None)
    if top is not None and top - node.own.low >= least_gain(settings):
        return best_of([e for e, _ in done], [value for _, value in done], rng)
    if untried:
        return best_of(untried, [e.prior for e in untried], rng)
    if not node.exhausted or top is None:
        return EXPAND
    return best_of([e for e, _ in done], [value for _, value in done], rng)


POLICY = Policy(greedy)
