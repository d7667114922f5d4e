"""Walks: from where, along which edges, to what is evaluated or expanded next."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..policies import POLICIES
from ..policies.rollout import rollout
from ..policies.selection import EXPAND, Choice, Choose, Scores
from ..settings import Settings

DRAWS: Final = 16
"""how many nodes a restart draws before it takes the root"""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a walk starts and how it chooses."""

    node: Node
    choose: Choose
    scores: Scores | None = None
    """what it chooses by, to be told; None: no score alone"""
    step: int = 0
    """of a rollout; 0: of none"""
    after: str | None = None
    """the edge that the rollout goes on from"""


@dataclass(slots=True)
class Walk:
    """A path to an open edge, its last; or to the node that expands."""

    start: Start
    path: list[Edge] = field(default_factory=list[Edge])
    expands: Node | None = None
    builds: int = 1
    """held for the evaluation"""


Watch = Callable[[Start, Node, Choice], None]
"""is told of each choice before the walk goes on"""


def walk(
    graph: Graph,
    settings: Settings,
    steps: int,
    newest: Edge | None,
    running: Iterable[Walk],
    watch: Watch | None = None,
) -> Walk:
    """The next walk, which follows from the graph, the settings and how many steps were made.

    `newest`: the edge whose outcome came last. `running`: walks whose evaluations are under way.
    """
    rng = Random(f"{settings.seed}:{steps}")
    start = _rollout(graph, settings, newest, running) or _start(graph, settings, rng)
    found, node = Walk(start), start.node
    while True:
        choice = start.choose(graph, node, settings, rng)
        if watch is not None:
            watch(start, node, choice)
        if choice is EXPAND:
            found.expands = node
            return found
        found.path.append(choice)
        if choice.child is None:
            return found
        node = graph.nodes[choice.child]


def _rollout(
    graph: Graph, settings: Settings, newest: Edge | None, running: Iterable[Walk]
) -> Start | None:
    """The next step of a rollout: from the new variant of the last outcome, if that worked.

    A rollout begins at a success and ends with the first failure, at a variant that was known
    already, and where nothing is left to choose. With several evaluations under way it goes on from
    an outcome as long as no other has come.
    """
    if newest is None or newest.child is None or newest.rollout >= settings.rollout_steps:
        return None
    known = newest.duplicate or newest.closes_cycle or newest.variant is not None
    node = graph.nodes[newest.child]
    begun = any(each.start.after == newest.edge_id for each in running)
    if known or node.failed or not node.available or begun:
        return None
    return Start(node, rollout, None, newest.rollout + 1, newest.edge_id)


def _start(graph: Graph, settings: Settings, rng: Random) -> Start:
    policy = POLICIES[settings.policy]
    if settings.restart_epsilon and rng.random() < settings.restart_epsilon:
        return Start(_anywhere(graph, rng), policy.choose, policy.scores)
    return Start(policy.start(graph, settings), policy.choose, policy.scores)


def _anywhere(graph: Graph, rng: Random) -> Node:
    """A random node that worked and has something left to choose, all as likely; the root where a
    few draws find none."""
    for _ in range(DRAWS):
        node = graph.nodes[graph.found[rng.randrange(len(graph.found))]]
        if node.available and not node.failed:
            return node
    return graph.root
