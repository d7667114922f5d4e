"""Backup: what a node is worth, given what was reached through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from .graph import Edge, Graph, Node
from .selection import is_available
from .settings import BackupName, Settings

Backup = Callable[[Graph, Node], float]


def max_backup(graph: Graph, node: Node) -> float:
    """Qmax(n) = max(reward(n), max over children Qmax(child)).

    The search wants one best leaf, so a node is worth the best that it led to. Computed from the
    children and never added up, it can be repeated at will, a node that several paths
    share is counted right, and over the same links the order of results does not matter
    (KataGo's recompute-from-children form of graph search, with max for the mean).
    """
    return max([node.reward, *(child.value for child in graph.children(node.key))])


def refresh(graph: Graph, keys: Iterable[str], settings: Settings) -> None:
    """Bring `value` and `available` up to date in the given nodes and in all their ancestors.

    Where nothing changes the ancestors are not visited, so the work follows the change and not
    the size of the graph. It ends: links have no cycle. Give children before their parents
    where there is a choice.
    """
    backup = BACKUPS[settings.backup]
    queue = deque(dict.fromkeys(keys))
    waiting = set(queue)
    while queue:
        node = graph.nodes[queue.popleft()]
        waiting.discard(node.key)
        before = node.value, node.available
        node.value = backup(graph, node)
        node.available = is_available(graph, node, settings)
        if before == (node.value, node.available):
            continue
        for parent in graph.parents(node.key):
            if parent.key not in waiting:
                waiting.add(parent.key)
                queue.append(parent.key)


def count_walk(graph: Graph, path: Iterable[Edge]) -> None:
    """Count one evaluation along the path that was walked from the root, the new leaf left out.

    A node that other paths lead to as well is counted here alone: visits say where the search
    went, values say what it found.
    """
    graph.root.visits += 1
    *inner, last = path
    for edge in inner:
        edge.visits += 1
        if edge.child is not None:
            graph.nodes[edge.child].visits += 1
    last.visits += 1


BACKUPS: Final[Mapping[BackupName, Backup]] = {"max": max_backup}
