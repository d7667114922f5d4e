"""Policy `beam`: depth by depth from the best few, a yardstick."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import EXPAND, Choice, Policy, best_of, is_closed, legal_arms, slots


def beam_start(graph: Graph, settings: Settings) -> Node:
    """The node to expand: one of the `beam_width` best of the newest complete depth.

    A node's depth is that of the path by which it was found; best is the highest own reward (low
    end), the earliest found of equal ones. A depth is complete when none of the best of the depth
    above has a candidate left to try, or visits left that widen it. While the last of
    a depth are under way the best of what is there goes on, so that nobody idles. A beam that has
    died out goes back to the deepest node that can still expand, without regard to width, so that
    it ends when the graph does (complete anytime beam search, Zhang 1998).
    """
    for layer in graph.layers[-2:]:
        for node in _best(graph, layer, settings.beam_width):
            if _grows(graph, node, settings):
                return node
    for layer in reversed(graph.layers):
        for node in _best(graph, layer, len(layer)):
            if _has_own_arm(graph, node, settings):
                return node
    return graph.root


def beam(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """The likeliest untried candidate of the node, else more of them; equal priors: `rng`.

    At a node that has none left, where a restart may begin: the best child's.
    """
    edges, _ = legal_arms(graph, node, settings)
    if untried := [e for e in edges if e.child is None]:
        return best_of(untried, [e.prior for e in untried], rng)
    if not node.exhausted:
        return EXPAND
    return best_of(edges, [graph.nodes[e.child or ""].best.low for e in edges], rng)


def _best(graph: Graph, layer: Iterable[str], width: int) -> list[Node]:
    return nlargest(width, (graph.nodes[key] for key in layer), key=lambda n: n.own.low)


def _grows(graph: Graph, node: Node, settings: Settings) -> bool:
    if is_closed(node, settings):
        return False
    return _untried(graph, node) or (not node.exhausted and slots(graph, node, settings) > 0)


def _has_own_arm(graph: Graph, node: Node, settings: Settings) -> bool:
    return not is_closed(node, settings) and (not node.exhausted or _untried(graph, node))


def _untried(graph: Graph, node: Node) -> bool:
    return any(e.state == "open" for e in graph.edges_of(node.key))


POLICY = Policy(beam, beam_start)
