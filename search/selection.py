"""Selection: which arm to follow at a node. Pure functions over the graph, one formula each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from random import Random
from typing import Final, Literal

from .graph import Edge, Graph, Node
from .settings import PolicyName, Settings


class Arm(Enum):
    """The virtual arm of a node beside its edges."""

    EXPAND = "expand"


EXPAND: Final = Arm.EXPAND
Choice = Edge | Literal[Arm.EXPAND]
Policy = Callable[[Graph, Node, Settings, Random], Choice]


def legal_arms(graph: Graph, node: Node, settings: Settings) -> tuple[list[Edge], bool]:
    """Edges that may be followed now, and whether the node may expand: the one mask.

    Masked are edges that are running, pruned or led to no variant, those that close a cycle,
    and those whose child has nothing to choose (`is_available`: closed failures, exhausted
    subtrees). A node expands under progressive widening, and when nothing else is left to do.
    """
    if _closed(node, settings):
        return [], False
    edges = graph.edges_of(node.key)
    legal = [e for e in edges if _may_follow(graph, e)]
    return legal, not node.exhausted and (not legal or slots(graph, node, settings) > 0)


def is_available(graph: Graph, node: Node, settings: Settings) -> bool:
    """Whether anything can be chosen at the node or below it, given its children's state."""
    if _closed(node, settings):
        return False
    return not node.exhausted or any(_may_follow(graph, e) for e in graph.edges_of(node.key))


def slots(graph: Graph, node: Node, settings: Settings) -> int:
    """How many more candidates the node's visits allow: ceil(C * N^alpha) less those it has.

    Progressive widening (Coulom 2007; in this form Couetoux et al. 2011, "Continuous upper
    confidence trees"): breadth grows with a node's visits. Pruned candidates do not count.
    """
    allowed = math.ceil(settings.widening_c * node.visits**settings.widening_alpha)
    return allowed - sum(not e.pruned for e in graph.edges_of(node.key))


def normalised(value: float, graph: Graph, settings: Settings) -> float:
    """A value on 0..1: 0 at the baseline or below, 1 at the best seen in this search.

    The best seen is always known, the roofline only where bytes or FLOPs are declared; and
    scaling by it gives `c_puct` the same meaning for kernels that can gain 5 % and
    for those that can gain a factor of 50. While the best is within `min_gain` of the baseline
    the scale stays at `min_gain`: noise must not be blown up to fill the range.
    """
    scale = max(graph.root.value, math.log2(1 + settings.min_gain), 1e-9)
    return min(max(value / scale, 0.0), 1.0)


def puct(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """The arm with the largest score(n,a) = Qmax(a) + c * P(a) * sqrt(N_n) / (1 + N_a).

    PUCT of AlphaZero (Silver et al. 2017) with max-type values in place of means (as MaxCode and
    AdaExplore do), normalised by `normalised`. N_n: the node's visits. N_a: the *edge's* visits,
    never the child's, which other parents share (graph form: Czech et al. 2020). P(a): the edge's
    share of the priors of all legal arms.

    What was never evaluated has no Q: an open edge, and the `expand` arm, take the node's own
    Qmax, so a new idea counts as good as the best one here until it is tried (AdaExplore scores
    its expand arm from the best child); widening bounds how many. The expand arm has the prior
    of an average candidate and as many visits as it brought candidates. Equal scores: `rng`.

    The node must be available: one without a legal arm has nothing to return.
    """
    edges, may_expand = legal_arms(graph, node, settings)
    unseen = normalised(node.value, graph, settings)
    arms: list[tuple[Choice, float, float, int]] = [
        (e, _value(graph, e, unseen, settings), e.prior, e.visits) for e in edges
    ]
    if may_expand:
        arms.append((EXPAND, unseen, 1.0, len(graph.edges_of(node.key))))
    total = sum(prior for _, _, prior, _ in arms)
    explore = settings.c_puct * math.sqrt(node.visits) / total
    scores = [q + explore * prior / (1 + visits) for _, q, prior, visits in arms]
    best = max(scores)
    ties = [arm for (arm, *_), score in zip(arms, scores, strict=True) if score == best]
    return ties[0] if len(ties) == 1 else rng.choice(ties)


def _value(graph: Graph, edge: Edge, unseen: float, settings: Settings) -> float:
    if edge.child is None:
        return unseen
    return normalised(graph.nodes[edge.child].value, graph, settings)


def _may_follow(graph: Graph, edge: Edge) -> bool:
    if edge.state != "done":
        return edge.state == "open"
    if edge.child is None or edge.closes_cycle:
        return False
    return graph.nodes[edge.child].available


def _closed(node: Node, settings: Settings) -> bool:
    repaired = node.value > settings.failure_reward
    return node.failed and not repaired and node.visits > settings.repair_visits


POLICIES: Final[Mapping[PolicyName, Policy]] = {"puct": puct}
