"""Policies: how an arm is chosen at a node, and where a walk starts. One policy a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import PolicyName, Settings
from .beam import beam, beam_start
from .greedy import greedy
from .pucb import pucb
from .puct import puct
from .selection import Choose
from .uniform import uniform


def at_the_root(graph: Graph, settings: Settings) -> Node:
    """Walks start at the baseline."""
    return graph.root


@dataclass(frozen=True, slots=True)
class Policy:
    """A way to walk the graph.

    `choose` gets a node at which something can be chosen, there or below, and gives one of its
    arms; `start` gets a graph whose root is such a node.
    """

    choose: Choose
    start: Callable[[Graph, Settings], Node] = at_the_root


POLICIES: Final[Mapping[PolicyName, Policy]] = {
    "puct": Policy(puct),
    "pucb": Policy(pucb),
    "greedy": Policy(greedy),
    "beam": Policy(beam, beam_start),
    "random": Policy(uniform),
}
