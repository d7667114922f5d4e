"""Policy `random`: a yardstick."""

from __future__ import annotations

from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import EXPAND, Choice, Policy, legal_arms


def uniform(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """Any legal arm, each as likely as the others."""
    edges, may_expand = legal_arms(graph, node, settings)
    arms: list[Choice] = [*edges]
    return rng.choice(arms + [EXPAND] * may_expand)


POLICY = Policy(uniform)
