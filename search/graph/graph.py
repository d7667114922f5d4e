"""The search graph: variants as nodes, candidates as edges, without policy, process or store.

Different paths may meet in one node. An edge that would close a cycle is kept as a fact
(`closes_cycle`) but is no link: `children`, `parents` and `ancestors` never follow it, so
whatever walks the graph comes to an end.

The Graph is the one mutable thing of the search; only the engine changes it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence

from ...runners.errors import HandleUnknown
from ...runners.model import Candidate, Ending
from .known_code import KnownCode
from .nodes import Edge, Node
from .proposal import Proposal

NO_CODE = (Ending.build_failed, Ending.rejected)
"""endings that say nothing of machine code"""


class Graph:
    """Nodes by variant id and edges by id; starts from one root, where the search began.

    A node's level is the length of the longest path of links from the root; its depth that of the
    one by which it was found first. Levels rise along every link, so that an ancestor is told from
    its level alone most of the time.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[str, Edge] = {}
        self.root_key: str = ""
        self.endings: Counter[Ending] = Counter()
        """how many nodes ended how, the root among them"""
        self.known_code = KnownCode()
        self._leaving: dict[str, list[Edge]] = {}
        self._links_to: dict[str, list[Edge]] = {}
        self._levels: dict[str, int] = {}
        self._depths: dict[str, int] = {}
        self._layers: list[list[str]] = []
        self._found: list[str] = []
        self._merged: dict[str, str] = {}

    @property
    def root(self) -> Node:
        """The variant that the search started from."""
        return self.nodes[self.root_key]

    def add_root(
        self,
        key: str,
        ending: Ending = Ending.tie,
        speedup: float | None = 1.0,
        interval: tuple[float, float] | None = (1.0, 1.0),
    ) -> Node:
        """Where the search starts; unless more is said the baseline, a tie with itself."""
        if self.root_key:
            raise ValueError(f"the graph already has the root {self.root_key}")
        node = self._add(Node(key, ending, speedup, interval))
        self._take_as_root(key)
        return node

    def add_node(
        self,
        key: str,
        ending: Ending,
        speedup: float | None,
        interval: tuple[float, float] | None,
    ) -> Node:
        """A variant seen for the first time; `link_child` connects it."""
        return self._add(Node(key, ending, speedup, interval))

    def judge_again(
        self,
        node: Node,
        ending: Ending,
        speedup: float | None,
        interval: tuple[float, float] | None,
    ) -> None:
        """A new verdict on a known variant, after one that was not final."""
        self.endings[node.ending] -= 1
        self.endings[ending] += 1
        node.ending, node.speedup, node.interval = ending, speedup, interval

    def add_edge(self, parent: str, candidate: Candidate, prior: float) -> Edge:
        """A new open edge; ids count up in the order of proposal."""
        edge = Edge(f"e{len(self.edges):06d}", self.node(parent).key, Proposal(candidate), prior)
        self._insert(edge)
        return edge

    def link_child(self, edge: Edge, child: str) -> None:
        """Let the edge reach a node, new or known; a link that closes a cycle is not walked."""
        edge.child = self.node(child).key
        edge.closes_cycle = self._would_close(edge.parent, child)
        self._link(edge)
        if not edge.closes_cycle:
            self._lift(child, self._levels[edge.parent] + 1)

    def node(self, key: str) -> Node:
        """The node of a variant. Raises HandleUnknown."""
        if key not in self.nodes:
            raise HandleUnknown(
                f"variant `{key}` is not a node of this search",
                valid="the variant_id of a question or of an evaluated candidate",
                next_step="ask the search for its next question",
            )
        return self.nodes[key]

    def of_variant(self, variant_id: str, same_code_as: str | None = None) -> Node | None:
        """The node in which a variant is, or that of its machine code's twin, if it has one."""
        for key in (variant_id, same_code_as):
            if key is not None and (found := self.nodes.get(self._merged.get(key, key))):
                return found
        return None

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

    def links_to(self, key: str) -> Sequence[Edge]:
        """The edges that lead to a node, oldest first."""
        return self._links_to[key]

    def children(self, key: str) -> list[Node]:
        """Nodes that the node's links reach, in the order of proposal, each once."""
        keys = (e.child for e in self._leaving[key] if not e.closes_cycle)
        return [self.nodes[k] for k in dict.fromkeys(keys) if k is not None]

    def parents(self, key: str) -> list[Node]:
        """Nodes with a link to this one, each once."""
        return [self.nodes[k] for k in dict.fromkeys(e.parent for e in self._links_to[key])]

    def ancestors(self, key: str, from_level: int = 0) -> Iterator[Node]:
        """Every node from which links lead here, nearest first, without the node itself; those
        below a level, and what only they are reached from, left out."""
        seen, queue = {key}, deque([key])
        while queue:
            for parent in self.parents(queue.popleft()):
                if parent.key not in seen and self._levels[parent.key] >= from_level:
                    seen.add(parent.key)
                    queue.append(parent.key)
                    yield parent

    def level(self, key: str) -> int:
        """Links on the longest path from the root; higher than that of every ancestor."""
        return self._levels[key]

    def depth(self, key: str) -> int:
        """Links on the path by which it was found first."""
        return self._depths[key]

    def children_first(self) -> list[str]:
        """Keys of all nodes, each after all that its links reach."""
        return sorted(self._levels, key=self._levels.__getitem__, reverse=True)

    @property
    def layers(self) -> Sequence[Sequence[str]]:
        """Keys by depth, each depth in the order of discovery."""
        return self._layers

    @property
    def found(self) -> Sequence[str]:
        """Keys in the order of discovery, the root first."""
        return self._found

    def _would_close(self, parent: str, child: str) -> bool:
        if child in (parent, self.root_key):
            return True
        level = self._levels[child]
        if level >= self._levels[parent] or not self._leaving[child]:
            return False
        return any(node.key == child for node in self.ancestors(parent, level))

    def _add(self, node: Node) -> Node:
        if node.key in self.nodes:
            raise ValueError(f"variant {node.key} is already a node")
        self.nodes[node.key] = node
        self.endings[node.ending] += 1
        self._leaving[node.key] = []
        self._links_to[node.key] = []
        self._levels[node.key] = 0
        return node

    def _add_all(self, nodes: list[Node]) -> None:
        self.nodes = {node.key: node for node in nodes}
        if len(self.nodes) < len(nodes):
            raise ValueError("a variant is among the nodes more than once")
        self.endings = Counter([node.ending for node in nodes])
        self._leaving = {key: [] for key in self.nodes}
        self._links_to = {key: [] for key in self.nodes}
        self._levels = dict.fromkeys(self.nodes, 0)

    def _take_as_root(self, key: str) -> None:
        self.root_key = key
        self._discover(key, 0)

    def _discover(self, key: str, depth: int) -> None:
        self._depths[key] = depth
        self._found.append(key)
        if depth == len(self._layers):
            self._layers.append([])
        self._layers[depth].append(key)

    def _insert(self, edge: Edge) -> None:
        self.edges[edge.edge_id] = edge
        self._leaving[edge.parent].append(edge)
        self.nodes[edge.parent].arms = None

    def _link(self, edge: Edge) -> None:
        if edge.child is None:
            return
        if not edge.duplicate and edge.ending not in NO_CODE:
            self.known_code.saw(edge, known=edge.variant is not None)
        for twin in (edge.variant, edge.same_code_as):
            if twin is not None and twin not in self.nodes:
                self._merged.setdefault(twin, edge.child)
        if edge.closes_cycle:
            return
        self._links_to[edge.child].append(edge)
        if edge.child not in self._depths:
            self._discover(edge.child, self._depths[edge.parent] + 1)

    def _lift(self, key: str, level: int) -> None:
        """Raise a node to a level, and what is below it accordingly."""
        stack = [(key, level)]
        while stack:
            key, level = stack.pop()
            if self._levels[key] < level:
                self._levels[key] = level
                stack += [(child.key, level + 1) for child in self.children(key)]

    @classmethod
    def of(cls, root: str, nodes: Iterable[Node], edges: Iterable[Edge]) -> Graph:
        """A graph of given parts; edges are put into the order of proposal, links into that of
        the steps."""
        graph = cls()
        graph._add_all(list(nodes))
        graph._take_as_root(root)
        ordered = sorted(edges, key=_number)
        graph.edges = {edge.edge_id: edge for edge in ordered}
        for edge in ordered:
            graph._leaving[edge.parent].append(edge)
        linked = [edge for edge in ordered if edge.child is not None]
        for edge in sorted(linked, key=lambda e: e.steps[-1] if e.steps else -1):
            graph._link(edge)
        graph._level_all()
        return graph

    def _level_all(self) -> None:
        """Every level at once, each node after all its parents (Kahn 1962)."""
        waits = {key: len(links) for key, links in self._links_to.items()}
        ready = [key for key, links in waits.items() if not links]
        levels = self._levels
        for key in ready:
            below = levels[key] + 1
            for edge in self._leaving[key]:
                child = edge.child
                if child is None or edge.closes_cycle:
                    continue
                if levels[child] < below:
                    levels[child] = below
                waits[child] -= 1
                if not waits[child]:
                    ready.append(child)


def _number(edge: Edge) -> int:
    return int(edge.edge_id[1:])
