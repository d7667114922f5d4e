"""What the engine decided, and from what: for a log, nothing here is read again.

One record for each node that a walk came through, each expansion, each candidate that was put
aside, and each outcome that was backed up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Final, Literal

from ...runners.model import Ending, Record
from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..policies.selection import EXPAND, Choice, columns, legal_arms
from ..settings import Settings
from .backup import Revalued
from .walking import Start

MOST_ARMS: Final = 8
"""of one selection that are told, those with the highest scores"""


class Arm(Record):
    """What a walk could take at a node, with what its formula saw."""

    edge: str | None
    """None: to ask for more candidates"""
    method: str
    score: float | None
    """by the policy's formula; None where it has none, or looks at less than a score"""
    q: float
    """value on 0..1: 0 the baseline's, 1 the best of this search (`selection.normalised`)"""
    prior: float
    """1: that of an average candidate"""
    visits: float
    """with those under way"""


class Selected(Record):
    """A walk came through a node and took one of its arms."""

    event: Literal["selected"] = "selected"
    search_id: str = ""
    step: int
    """how many steps were made before"""
    node: str
    by: str
    """the policy, or `rollout`"""
    chosen: str | None
    """the edge; None: to ask for more candidates"""
    arms: tuple[Arm, ...]
    """the chosen one and those with the highest scores, highest first"""
    arms_in_all: int


class Proposed(Record):
    """A candidate that is new at its node."""

    edge: str
    method: str
    detail: str
    prior: float


class Expanded(Record):
    """Candidates were proposed from a node."""

    event: Literal["expanded"] = "expanded"
    search_id: str = ""
    step: int
    node: str
    proposed: tuple[Proposed, ...]
    notes: tuple[str, ...]
    """of candidates that were dropped or put aside: why"""
    exhausted: bool
    """nothing more will be asked here"""


class Pruned(Record):
    """A candidate was put aside without an evaluation."""

    event: Literal["pruned"] = "pruned"
    search_id: str = ""
    step: int
    node: str
    edge: str
    method: str
    why: str


class Value(Record):
    """A node whose value an outcome changed; rewards as the setting `rewards` has them."""

    node: str
    before: float
    after: float
    visits: int
    available: bool
    """something can still be chosen here or below"""


class BackedUp(Record):
    """An outcome was recorded, and what nodes are worth by it."""

    event: Literal["backed_up"] = "backed_up"
    search_id: str = ""
    step: int
    """that the outcome ended, from 1"""
    edge: str
    child: str | None
    ending: Ending
    reward: float | None
    """of the child itself; None: the candidate gave no variant"""
    path: tuple[str, ...]
    """nodes that count a visit, the start first"""
    values: tuple[Value, ...]


class Foreseen(Record):
    """A candidate is about to be built, and its text shows that it keeps away from the region that
    the profile of its parent blames."""

    event: Literal["foreseen"] = "foreseen"
    search_id: str = ""
    step: int
    """how many steps were made before"""
    node: str
    edge: str
    method: str
    touches_hot_region: str
    """`no, by its lines: ...`"""


Decision = Selected | Expanded | Pruned | Foreseen | BackedUp


def selected(
    graph: Graph, settings: Settings, steps: int, start: Start, node: Node, choice: Choice
) -> Selected:
    """The record of one choice, made before anything else changes."""
    arms = arms_at(graph, node, settings, start)
    taken = None if choice is EXPAND else choice.edge_id
    best = nlargest(MOST_ARMS, arms, key=lambda arm: arm.q if arm.score is None else arm.score)
    if all(arm.edge != taken for arm in best):
        best = [*(arm for arm in arms if arm.edge == taken), *best][:MOST_ARMS]
    return Selected(
        step=steps,
        node=node.key,
        by="rollout" if start.step else settings.policy,
        chosen=taken,
        arms=tuple(best),
        arms_in_all=len(arms),
    )


def arms_at(graph: Graph, node: Node, settings: Settings, start: Start) -> list[Arm]:
    """Every legal arm of a node, in the order of proposal."""
    edges, may_expand = legal_arms(graph, node, settings)
    if not edges and not may_expand:
        return []
    found = columns(graph, node, settings)
    scores: Sequence[float | None] = [None] * len(found.arms)
    if start.scores is not None:
        scores = start.scores(graph, node, settings)
    return [
        Arm(
            edge=None if arm is EXPAND else arm.edge_id,
            method="expand" if arm is EXPAND else arm.candidate.method,
            score=score,
            q=q,
            prior=prior,
            visits=visits,
        )
        for arm, score, q, prior, visits in zip(
            found.arms, scores, found.q, found.priors, found.visits, strict=True
        )
    ]


def expanded(steps: int, node: Node, edges: Sequence[Edge], notes: Iterable[str]) -> list[Decision]:
    """What came of an answer: an `Expanded`, and a `Pruned` for each that was put aside."""
    proposed = tuple(
        Proposed(
            edge=e.edge_id, method=e.candidate.method, detail=e.candidate.detail, prior=e.prior
        )
        for e in edges
    )
    told = Expanded(
        step=steps,
        node=node.key,
        proposed=proposed,
        notes=tuple(notes),
        exhausted=node.exhausted,
    )
    return [told, *pruned(steps, edges)]


def pruned(steps: int, edges: Iterable[Edge]) -> list[Pruned]:
    """A `Pruned` for each of them that was put aside."""
    return [
        Pruned(step=steps, node=e.parent, edge=e.edge_id, method=e.candidate.method, why=e.message)
        for e in edges
        if e.pruned
    ]


def backed_up(
    graph: Graph,
    steps: int,
    path: Sequence[Edge],
    ending: Ending,
    changed: Iterable[Revalued],
) -> BackedUp:
    """What an outcome, that of the path's last edge, changed."""
    edge = path[-1]
    child = None if edge.child is None else graph.nodes[edge.child]
    return BackedUp(
        step=steps,
        edge=edge.edge_id,
        child=edge.child,
        ending=ending,
        reward=None if child is None else child.reward,
        path=tuple(e.parent for e in path),
        values=tuple(
            Value(
                node=each.key,
                before=each.before,
                after=each.after,
                visits=graph.nodes[each.key].visits,
                available=graph.nodes[each.key].available,
            )
            for each in changed
        ),
    )
