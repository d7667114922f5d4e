"""The search graph: variants as nodes, candidates as edges, without policy, process or store.

Different paths may meet in one node. An edge that would close a cycle is kept as a fact
(`closes_cycle`) but is no link: `children`, `parents` and `ancestors` never follow it, so
whatever walks the graph comes to an end. Facts go into records; `reward`, `value` and
`available` follow from them and are computed again on load (`backup.refresh`).

The Graph is the one mutable thing of the search; only the engine changes it.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..runners.errors import HandleUnknown
from ..runners.model import Candidate, Ending

JsonObject = dict[str, Any]
EdgeState = Literal["open", "running", "done"]


@dataclass(slots=True)
class Node:
    """A variant that was evaluated, with what the search learned through it."""

    key: str
    """variant id"""
    ending: Ending
    speedup: float | None
    """over the baseline; None unless measured"""
    interval: tuple[float, float] | None
    """95 % interval of the speedup"""
    reward: float
    """its own: log2 of the speedup, or the failure reward (`reward_of`)"""
    value: float
    """as backed up from what was reached through this node"""
    visits: int = 1
    """evaluations on paths that came through here, its own included"""
    exhausted: bool = False
    """the planner has nothing more to propose here"""
    available: bool = True
    """something here or below can be chosen now"""

    @property
    def failed(self) -> bool:
        """Whether the variant did not get as far as a measurement."""
        return not self.ending.measured


@dataclass(slots=True)
class Edge:
    """A candidate proposed from a node, and what came of it."""

    edge_id: str
    parent: str
    candidate: Candidate
    prior: float
    """weight relative to an average candidate of the same question (1 = average)"""
    state: EdgeState = "open"
    child: str | None = None
    """variant id; None until evaluated, or when the candidate gave no variant"""
    closes_cycle: bool = False
    """the child is the parent or one of its ancestors: recorded, never walked"""
    ending: Ending | None = None
    """None and done: pruned, `message` says why"""
    message: str = ""
    visits: int = 0
    """times that this edge was walked, whatever other edges lead to its child"""
    steps: tuple[int, ...] = ()
    """numbers of the steps whose outcome was recorded here; more than one if some were lost"""
    builds: int = 0
    """builds spent on it"""
    duplicate: bool = False
    """the variant was known already, nothing was evaluated"""
    became_incumbent: bool = False

    @property
    def pruned(self) -> bool:
        """Whether it was put aside without an evaluation."""
        return self.state == "done" and self.ending is None


class Graph:
    """Nodes by variant id and edges by id; starts from one root, the baseline."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, Edge] = {}
        self.root_key: str = ""
        self._leaving: dict[str, list[Edge]] = {}
        self._links_to: dict[str, list[Edge]] = {}

    @property
    def root(self) -> Node:
        """The baseline."""
        return self.nodes[self.root_key]

    def add_root(self, key: str) -> Node:
        """The baseline: a tie with itself, speedup 1."""
        if self.root_key:
            raise ValueError(f"the graph already has the root {self.root_key}")
        self.root_key = key
        return self._add(Node(key, Ending.tie, 1.0, (1.0, 1.0), reward=0.0, value=0.0))

    def add_node(
        self,
        key: str,
        ending: Ending,
        speedup: float | None,
        interval: tuple[float, float] | None,
        failure_reward: float,
    ) -> Node:
        """A variant seen for the first time; `link_child` connects it."""
        reward = reward_of(ending, speedup, interval, failure_reward)
        return self._add(Node(key, ending, speedup, interval, reward=reward, value=reward))

    def judge_again(
        self,
        node: Node,
        ending: Ending,
        speedup: float | None,
        interval: tuple[float, float] | None,
        failure_reward: float,
    ) -> None:
        """A new verdict on a known variant, after one that was not final."""
        node.ending, node.speedup, node.interval = ending, speedup, interval
        node.reward = reward_of(ending, speedup, interval, failure_reward)

    def add_edge(self, parent: str, candidate: Candidate, prior: float) -> Edge:
        """A new open edge; ids count up in the order of proposal."""
        edge = Edge(f"e{len(self.edges):06d}", self.node(parent).key, candidate, prior)
        self._insert(edge)
        return edge

    def link_child(self, edge: Edge, child: str) -> None:
        """Let the edge reach a node, new or known; a link that closes a cycle is not walked."""
        edge.child = self.node(child).key
        edge.closes_cycle = self._would_close(edge.parent, child)
        self._link(edge)

    def node(self, key: str) -> Node:
        """The node of a variant. Raises HandleUnknown."""
        if key not in self.nodes:
            raise HandleUnknown(
                f"variant `{key}` is not a node of this search",
                valid="the variant_id of a question or of an evaluated candidate",
                next_step="ask the search for its next question",
            )
        return self.nodes[key]

    def edge(self, edge_id: str) -> Edge:
        """The edge of an id. Raises HandleUnknown."""
        if edge_id not in self.edges:
            raise HandleUnknown(
                f"edge `{edge_id}` is not in this search",
                valid=f"e000000 to e{len(self.edges) - 1:06d}" if self.edges else "no edge yet",
                next_step="ask the search for its next work",
            )
        return self.edges[edge_id]

    def edges_of(self, key: str) -> list[Edge]:
        """Every candidate proposed from a node, oldest first."""
        return self._leaving[key]

    def children(self, key: str) -> list[Node]:
        """Nodes that the node's links reach, in the order of proposal, each once."""
        keys = (e.child for e in self._leaving[key] if not e.closes_cycle)
        return [self.nodes[k] for k in dict.fromkeys(keys) if k is not None]

    def parents(self, key: str) -> list[Node]:
        """Nodes with a link to this one, each once."""
        return [self.nodes[k] for k in dict.fromkeys(e.parent for e in self._links_to[key])]

    def ancestors(self, key: str) -> Iterator[Node]:
        """Every node from which links lead here, nearest first, without the node itself."""
        seen, queue = {key}, deque([key])
        while queue:
            for parent in self.parents(queue.popleft()):
                if parent.key not in seen:
                    seen.add(parent.key)
                    queue.append(parent.key)
                    yield parent

    def _would_close(self, parent: str, child: str) -> bool:
        if parent == child:
            return True
        if not self.children(child):
            return False
        return any(node.key == child for node in self.ancestors(parent))

    def _add(self, node: Node) -> Node:
        if node.key in self.nodes:
            raise ValueError(f"variant {node.key} is already a node")
        self.nodes[node.key] = node
        self._leaving[node.key] = []
        self._links_to[node.key] = []
        return node

    def _insert(self, edge: Edge) -> None:
        self.edges[edge.edge_id] = edge
        self._leaving[edge.parent].append(edge)

    def _link(self, edge: Edge) -> None:
        if edge.child is not None and not edge.closes_cycle:
            self._links_to[edge.child].append(edge)

    @classmethod
    def of(cls, root: str, nodes: Iterable[Node], edges: Iterable[Edge]) -> Graph:
        """A graph of given parts; edges are put into the order of proposal."""
        graph = cls()
        graph.root_key = root
        for node in nodes:
            graph._add(node)
        for edge in sorted(edges, key=lambda e: int(e.edge_id[1:])):
            graph._insert(edge)
            graph._link(edge)
        return graph


def reward_of(
    ending: Ending,
    speedup: float | None,
    interval: tuple[float, float] | None,
    failure_reward: float,
) -> float:
    """log2 of the speedup over the baseline; `failure_reward` for what was never measured.

    In log2, gains of successive moves add up and a factor of two weighs the same in
    both directions. An `unstable` variant counts with the low end of its interval, so that
    noise attracts nobody. A measured one is worth at least `failure_reward + 1`: any
    success is above every failure.
    """
    if not ending.measured or speedup is None:
        return failure_reward
    trusted = interval[0] if ending is Ending.unstable and interval else speedup
    return math.log2(max(trusted, 2.0 ** (failure_reward + 1)))


def node_record(graph: Graph, node: Node) -> JsonObject:
    """The facts of a node, for the store."""
    return {
        "key": node.key,
        "root": node.key == graph.root_key,
        "ending": node.ending.value,
        "speedup": node.speedup,
        "interval": None if node.interval is None else list(node.interval),
        "visits": node.visits,
        "exhausted": node.exhausted,
    }


def edge_record(edge: Edge) -> JsonObject:
    """The facts of an edge, for the store."""
    return {
        "edge_id": edge.edge_id,
        "parent": edge.parent,
        "candidate": edge.candidate.model_dump(mode="json", exclude_defaults=True),
        "prior": edge.prior,
        "state": edge.state,
        "child": edge.child,
        "closes_cycle": edge.closes_cycle,
        "ending": None if edge.ending is None else edge.ending.value,
        "message": edge.message,
        "visits": edge.visits,
        "steps": list(edge.steps),
        "builds": edge.builds,
        "duplicate": edge.duplicate,
        "became_incumbent": edge.became_incumbent,
    }


def graph_from_records(
    nodes: Iterable[JsonObject], edges: Iterable[JsonObject], failure_reward: float
) -> Graph:
    """The graph that `node_record` and `edge_record` described, in any order.

    Edges that were running are open again: nobody is evaluating them any more.
    Values are those of the nodes alone until `backup.refresh` has run over all of them.
    """
    records = list(nodes)
    roots = [r["key"] for r in records if r["root"]]
    if len(roots) != 1:
        raise ValueError(f"a search graph has one root, these records have {len(roots)}")
    return Graph.of(
        roots[0],
        (_node(r, failure_reward) for r in records),
        (_edge(r) for r in edges),
    )


def _node(record: JsonObject, failure_reward: float) -> Node:
    ending, speedup = Ending(record["ending"]), record["speedup"]
    interval = (
        None if record["interval"] is None else (record["interval"][0], record["interval"][1])
    )
    reward = reward_of(ending, speedup, interval, failure_reward)
    return Node(
        key=record["key"],
        ending=ending,
        speedup=speedup,
        interval=interval,
        reward=reward,
        value=reward,
        visits=record["visits"],
        exhausted=record["exhausted"],
    )


def _edge(record: JsonObject) -> Edge:
    facts = dict(record)
    facts["candidate"] = Candidate.model_validate(record["candidate"])
    facts["state"] = "open" if record["state"] == "running" else record["state"]
    facts["ending"] = None if record["ending"] is None else Ending(record["ending"])
    facts["steps"] = tuple(record["steps"])
    return Edge(**facts)
