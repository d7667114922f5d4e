"""Backup: what a node is worth, given what was reached through it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple

from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..graph.rewards import Worth, failure_of, reward_of
from ..policies.selection import is_available
from ..settings import BackupName, Settings

Backup = Callable[[Graph, Node, Settings], Worth]


class Revalued(NamedTuple):
    """A node whose backed up value changed."""

    key: str
    before: float
    after: float


def max_backup(graph: Graph, node: Node, settings: Settings) -> Worth:
    """Qmax(n) = max(reward(n), max over children Qmax(child)).

    The search wants one best leaf, so a node is worth the best that it led to. Computed from the
    children and never added up, it can be repeated at will, a node that several paths
    share is counted right, and over the same links the order of results does not matter
    (KataGo's recompute-from-children form of graph search, with max for the mean).
    """
    return node.best


def mean_backup(graph: Graph, node: Node, settings: Settings) -> Worth:
    """Q(n) = (U(n) + sum over edges N(n,a) Q(child)) / (1 + sum over edges N(n,a)).

    KataGo's graph search ("Monte-Carlo graph search from first principles", D. Wu): N(n,a) are the
    *edge's* visits, so that visits to a shared child through other parents weigh nothing here, and
    it is computed anew each time. U(n) is the node's own reward, or the best of the rollout that
    went on from it, whose visits do not count again. A candidate that gave no variant is a failure.
    With log2 rewards a failure of -10 outweighs all successes: give `failure_reward` near -2.
    """
    failure = failure_of(settings)
    low, value, high = node.played
    total = 1
    for edge in graph.edges_of(node.key):
        visits = edge.visits - (edge.rollout > 0)
        if visits <= 0 or edge.ending is None or edge.closes_cycle:
            continue
        found = graph.nodes[edge.child].backed if edge.child else Worth(failure, failure, failure)
        total += visits
        low += visits * found.low
        value += visits * found.value
        high += visits * found.high
    return Worth(low / total, value / total, high / total)


def refresh(graph: Graph, keys: Iterable[str], settings: Settings) -> list[Revalued]:
    """Bring all that follows from facts up to date in the given nodes and in all their ancestors;
    those whose value changed by it, children first.

    To be called with every node whose own facts, edges or visits changed; with backup `max`, visits
    matter at failures alone. Where nothing changes the ancestors are not visited, so the work
    follows the change and not the size of the graph. Levels order it: children are done before
    their parents, every node once. It ends: links have no cycle. For a whole graph: `refresh_all`.

    Ends of intervals are backed up as the values are. Both backups grow with each of their
    arguments: wherever in their intervals the true rewards lie, the true value lies in its own.
    """
    waiting, revalued = set(keys), list[Revalued]()
    heap = [(-graph.level(key), key) for key in waiting]
    heapify(heap)
    while heap:
        node = graph.nodes[heappop(heap)[1]]
        before = node.value
        if not _changes(graph, node, settings):
            continue
        if node.value != before:
            revalued.append(Revalued(node.key, before, node.value))
        for edge in graph.links_to(node.key):
            if edge.parent not in waiting:
                waiting.add(edge.parent)
                heappush(heap, (-graph.level(edge.parent), edge.parent))
    return revalued


def refresh_all(graph: Graph, settings: Settings) -> None:
    """As `refresh` of every node, in one pass."""
    for key in graph.children_first():
        _update(graph, graph.nodes[key], settings)


def count_walk(graph: Graph, path: Iterable[Edge], step: int = 0) -> None:
    """Count one evaluation, of that step, along the path that was walked, the new leaf left out.

    A node that other paths lead to as well is counted here alone: visits say where the search
    went, values say what it found. A walk that started below the root counts from there.
    """
    for edge in path:
        node = graph.nodes[edge.parent]
        edge.visits, edge.walked = edge.visits + 1, step + 1
        node.visits, node.walked = node.visits + 1, step + 1


def mark_walk(graph: Graph, path: Iterable[Edge], change: int) -> None:
    """Note along a path that one evaluation more (1) or less (-1) is under way."""
    for edge in path:
        edge.running += change
        graph.nodes[edge.parent].running += change


def _changes(graph: Graph, node: Node, settings: Settings) -> bool:
    before = node.played, node.best, node.backed, node.available
    _update(graph, node, settings)
    return before != (node.played, node.best, node.backed, node.available)


def _update(graph: Graph, node: Node, settings: Settings) -> None:
    node.own = reward_of(node.ending, node.speedup, node.interval, settings)
    node.played = node.best = node.own
    # Most nodes of a large graph have no edges.
    if edges := graph.edges_of(node.key):
        nodes = graph.nodes
        links = [(e, nodes[e.child]) for e in edges if e.child is not None and not e.closes_cycle]
        node.played = _highest(node.own, [child.played for e, child in links if e.rollout])
        node.best = _highest(node.own, [child.best for _, child in links])
    node.backed = BACKUPS[settings.backup](graph, node, settings)
    node.arms = None
    node.available = is_available(graph, node, settings)


def _highest(own: Worth, others: list[Worth]) -> Worth:
    """The largest of each end."""
    if not others:
        return own
    return Worth(*map(max, zip(own, *others, strict=True)))


BACKUPS: Final[Mapping[BackupName, Backup]] = {"max": max_backup, "mean": mean_backup}
