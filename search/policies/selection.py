"""What selection has to choose from at a node, and what is known of it; policies choose.

A path never meets itself: an edge that leads back to its node or to an ancestor is no arm (its
cycle penalty is infinite, as it was paid for once and cannot bring anything new). One that leads
to a node that other paths share has no penalty: meeting there is what a graph is for, and its own
visits say how often it was walked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final, Literal, NamedTuple, TypeVar

from ..graph.graph import Graph
from ..graph.nodes import Arms, Edge, Node, Placed
from ..graph.rewards import least_gain
from ..settings import Settings

T = TypeVar("T")


class Arm(Enum):
    """The virtual arm of a node beside its edges."""

    EXPAND = "expand"


EXPAND: Final = Arm.EXPAND
Choice = Edge | Literal[Arm.EXPAND]
Choose = Callable[[Graph, Node, Settings, Random], Choice]
Scores = Callable[[Graph, Node, Settings], list[float]]
"""of the legal arms of a node, in the order of `columns`"""


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
    scores: Scores | None = None
    """what `choose` takes the largest of; None where it looks at something else besides"""


class Columns(NamedTuple):
    """The legal arms of a node with what is known of each, one list a column (`Option`)."""

    arms: Sequence[Choice]
    q: Sequence[float]
    priors: Sequence[float]
    total: float
    """of the priors"""
    visits: Sequence[float]


class Option(NamedTuple):
    """A legal arm with what is known of it."""

    arm: Choice
    q: float
    """its value on 0..1 (`normalised`): the low end of the interval"""
    prior: float
    """weight relative to an average candidate"""
    visits: float
    """the edge's, with those that are under way"""


def legal_arms(graph: Graph, node: Node, settings: Settings) -> tuple[list[Edge], bool]:
    """Edges that may be followed now, and whether the node may expand: the one mask.

    Masked are edges that are running, put aside or led to no variant, those that close a cycle,
    and those whose child has nothing to choose (`is_available`: closed failures, exhausted
    subtrees). A node expands under progressive widening, and when nothing else is left to do.
    """
    if is_closed(node, settings):
        return [], False
    legal = _arms(graph, node, settings).edges
    return legal, not node.exhausted and (not legal or slots(graph, node, settings) > 0)


def is_available(graph: Graph, node: Node, settings: Settings) -> bool:
    """Whether anything can be chosen at the node or below it, given its children's state."""
    if is_closed(node, settings):
        return False
    return not node.exhausted or bool(_arms(graph, node, settings).edges)


def is_closed(node: Node, settings: Settings) -> bool:
    """Whether it is a failure whose repair visits are used up without a success below it."""
    repaired = node.best.value > node.own.value
    return node.failed and not repaired and node.visits > settings.repair_visits


def slots(graph: Graph, node: Node, settings: Settings) -> int:
    """How many more candidates the node's visits allow: ceil(C * N^alpha) less those it has.

    Progressive widening (Coulom 2007; in this form Couetoux et al. 2011, "Continuous upper
    confidence trees"): breadth grows with a node's visits. What was put aside does not count.
    """
    allowed = math.ceil(settings.widening_c * visits_of(node, settings) ** settings.widening_alpha)
    return allowed - _arms(graph, node, settings).proposed


def visits_of(it: Node | Edge, settings: Settings) -> float:
    """Visits, and `virtual_loss` more for each evaluation under way through it.

    What is under way counts as visits without a result: others go elsewhere meanwhile, and no
    value is made worse by what nobody knows yet (WU-UCT, Liu et al. 2020, "Watch the unobserved").
    """
    return it.visits + settings.virtual_loss * it.running


def untried(graph: Graph, node: Node, settings: Settings) -> Sequence[Edge]:
    """A node's open edges, the largest prior first, the oldest of equal ones."""
    return _arms(graph, node, settings).untried


def options(graph: Graph, node: Node, settings: Settings) -> list[Option]:
    """`columns`, arm by arm."""
    arms, q, priors, _, visits = columns(graph, node, settings)
    return list(map(Option, arms, q, priors, visits))


def columns(graph: Graph, node: Node, settings: Settings) -> Columns:
    """The legal arms as formulas see them, in the order of proposal, `expand` last.

    What was never evaluated has no value: an open edge, and the `expand` arm, take one between the
    node's own reward and what is backed up to it (`first_play`; AdaExplore scores its expand arm
    from the best child); widening bounds how many. Value and prior of an open edge fall with the
    chance that it gives new machine code at all (`KnownCode.chance`). The expand arm has the prior
    of an average candidate and as many visits as it brought candidates. Values that cannot be told
    from the best one equal it.
    """
    edges, may_expand = legal_arms(graph, node, settings)
    q, priors, total = _placed(graph, node, settings, may_expand)
    visits: list[float] = [e.visits for e in edges]
    if node.running:  # else nothing is under way along its edges either
        loss = settings.virtual_loss
        visits = [e.visits + loss * e.running for e in edges]
    if not may_expand:
        return Columns(edges, q, priors, total, visits)
    visits.append(len(graph.edges_of(node.key)))
    return Columns([*edges, EXPAND], q, priors, total, visits)


def normalised(value: float, graph: Graph, settings: Settings) -> float:
    """A value on 0..1: 0 at the baseline or below, 1 at the best seen in this search.

    The best seen is always known, the roofline only where bytes or FLOPs are declared; and
    scaling by it gives `c_puct` the same meaning for kernels that can gain 5 % and
    for those that can gain a factor of 50. While the best is within `min_gain` of the baseline
    the scale stays at `min_gain`: noise must not be blown up to fill the range.
    """
    baseline, scale = _scale(graph, settings)
    return min(max((value - baseline) / scale, 0.0), 1.0)


def _placed(graph: Graph, node: Node, settings: Settings, may_expand: bool) -> Placed:
    """What is kept of the columns; worked out once for a scale, which a new best changes."""
    known = _arms(graph, node, settings)
    which = *_scale(graph, settings), may_expand
    if which not in known.placed:
        lows = [*known.lows, known.unseen] if may_expand else known.lows
        priors = [*known.priors, 1.0] if may_expand else known.priors
        known.placed.clear()
        known.placed[which] = Placed(_values(lows, graph, settings), priors, sum(priors))
    return known.placed[which]


def _values(lows: Sequence[float], graph: Graph, settings: Settings) -> list[float]:
    """Values normalised, where those less than `min_gain` below the best of them equal it.

    One pass: with hundreds of arms a node, on every node of a walk, this is where the time goes.
    """
    top, (baseline, scale) = max(lows), _scale(graph, settings)
    best, apart = normalised(top, graph, settings), top - least_gain(settings)
    return [
        best if low > apart else (low - baseline) / scale if low > baseline else 0.0 for low in lows
    ]


def _scale(graph: Graph, settings: Settings) -> tuple[float, float]:
    """The value that is 0 when normalised, and how far above it 1 is."""
    baseline = graph.root.own.value
    return baseline, max(graph.root.best.value - baseline, least_gain(settings))


def best_of(arms: Sequence[T], scores: Sequence[float], rng: Random) -> T:
    """The arm with the highest score; `rng` decides between equal ones."""
    best = max(scores)
    if scores.count(best) == 1:
        return arms[scores.index(best)]
    return rng.choice([arm for arm, score in zip(arms, scores, strict=True) if score == best])


def _arms(graph: Graph, node: Node, settings: Settings) -> Arms:
    """What does not change from walk to walk; looked at edge by edge only once it may have.

    Followed are edges that are open, and those to a node where something can be chosen; one that
    is running has no child.
    """
    known = graph.known_code
    if node.arms is None or node.arms.version != known.version:
        nodes, first, edges = graph.nodes, settings.first_play, graph.edges_of(node.key)
        unseen = first * node.backed.low + (1 - first) * node.own.low
        legal = [
            e
            for e in edges
            if e.state == "open"
            or (e.child is not None and not e.closes_cycle and nodes[e.child].available)
        ]
        unsure = known.matters  # else no candidate is looked at: most are records still
        chances = [known.chance(e.candidate) if unsure and e.child is None else 1.0 for e in legal]
        hoped = [unseen if c == 1 else node.own.low + c * (unseen - node.own.low) for c in chances]
        priors = [e.prior * chance for e, chance in zip(legal, chances, strict=True)]
        node.arms = Arms(
            edges=legal,
            untried=_untried(legal, priors),
            proposed=sum([not e.pruned for e in edges]),
            lows=[
                each if e.child is None else nodes[e.child].backed.low
                for e, each in zip(legal, hoped, strict=True)
            ],
            priors=priors,
            unseen=unseen,
            version=known.version,
        )
    return node.arms


def _untried(edges: Sequence[Edge], priors: Sequence[float]) -> list[Edge]:
    """Open ones, the largest prior first, the oldest of equal ones."""
    pairs = [(p, e) for p, e in zip(priors, edges, strict=True) if e.state == "open"]
    return [edge for _, edge in sorted(pairs, key=lambda pair: -pair[0])]
