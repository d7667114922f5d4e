"""Policy `random`: a yardstick."""

from __future__ import annotations

from random import Random

from ..graph import Graph
from ..nodes import Node
from ..selection import EXPAND, Choice, legal_arms
from ..settings import Settings


def uniform(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """Any legal arm, each as likely as the others."""
    edges, may_expand = legal_arms(graph, node, settings)
    arms: list[Choice] = [*edges]
    return rng.choice(arms + [EXPAND] * may_expand)
