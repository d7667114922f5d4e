"""Policy `pucb`: ReGraphT's, without priors."""

from __future__ import annotations

import math
from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import Choice, Policy, best_of, options, visits_of


def pucb(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """The arm with the largest score(n,a) = Q(a) + sqrt(2 * ln(N_n + 1) / (N_a + 1)).

    ReGraphT's P-UCB (arXiv 2510.19873), with one added to the visits, so that an arm without any
    has a score; Q is a mean with backup `mean`. The weight sqrt(2) is UCB1's for values on 0..1
    (Auer et al. 2002), to which Q is normalised here. Equal scores: `rng`.
    """
    found = options(graph, node, settings)
    return best_of(found, scores(graph, node, settings), rng).arm


def scores(graph: Graph, node: Node, settings: Settings) -> list[float]:
    """Of the legal arms, in the order of `columns`."""
    spread = 2 * math.log(visits_of(node, settings) + 1)
    found = options(graph, node, settings)
    return [o.q + math.sqrt(spread / (o.visits + 1)) for o in found]


POLICY = Policy(pucb, scores=scores)
