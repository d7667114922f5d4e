"""What passes between the engine and its caller: work, outcomes, changes, what was spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...runners.model import Candidate, Ending
from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..graph.records import JsonObject
from ..planning.planner import Question

StopReason = Literal["budget", "patience", "exhausted", "headroom"]


@dataclass(frozen=True, slots=True)
class Evaluate:
    """Work: evaluate this candidate, applied to the parent's variant, and `record` the outcome."""

    edge_id: str
    parent: str
    candidate: Candidate
    builds: int = 1
    """how many builds it may spend: they are held for it; more than one where it has knobs"""


@dataclass(frozen=True, slots=True)
class Ask:
    """Work: put the question to whoever plans, and `answer` for this node."""

    node_id: str
    question: Question


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing can start before one of these edges has its outcome."""

    running: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """The stop verdict, with the reason in words."""

    reason: StopReason
    text: str


Work = Evaluate | Ask | Waiting | Stopped


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the evaluation of an edge ended. Raises ValueError when its parts disagree."""

    ending: Ending
    variant_id: str | None = None
    """the variant that the candidate gave; None when it gave none (a diff that does not apply)"""
    speedup: float | None = None
    """over the baseline; for measured endings, and only for those"""
    interval: tuple[float, float] | None = None
    became_incumbent: bool = False
    duplicate_of_known: bool = False
    """the very variant was known, nothing was evaluated"""
    spent_build: bool = False
    """whether anything was built"""
    message: str = ""
    same_code_as: str | None = None
    """the variant with the same machine code whose measurement this one shares"""
    builds: int = 0
    """how many builds were spent; left out, `spent_build` stands for one"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "builds", self.builds or int(self.spent_build))
        object.__setattr__(self, "spent_build", self.builds > 0)
        if self.builds < 0:
            raise ValueError(f"{self.builds} builds cannot be spent")
        if self.ending.measured != (self.speedup is not None):
            raise ValueError(f"`{self.ending}` with speedup {self.speedup}")
        if self.speedup is not None and not 0 < self.speedup < math.inf:
            raise ValueError(f"a speedup is a positive number, not {self.speedup}")
        if self.ending.measured and self.variant_id is None:
            raise ValueError(f"`{self.ending}` needs the variant that was measured")
        if self.duplicate_of_known and self.spent_build:
            raise ValueError("a known variant costs no build")


@dataclass(frozen=True, slots=True)
class Changes:
    """Records that changed since the last Changes, to be committed in one transaction."""

    nodes: tuple[JsonObject, ...]
    edges: tuple[JsonObject, ...]
    notes: tuple[str, ...] = ()
    """why candidates were dropped or pruned, for the planner"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the search has spent; follows from the edges (`ledger_of`)."""

    steps: int
    """outcomes recorded"""
    builds: int
    since_incumbent: int
    """evaluations, lost ones included, since the last new incumbent or the start; known variants
    and known machine code are none"""
    incumbent: str
    """variant id of the last that took the kernel's incumbent's place; the root before one did"""
    known_in_a_row: int = 0
    """outcomes since the last evaluation: all were known, or had known machine code"""


def ledger_of(graph: Graph) -> Ledger:
    """What the edges of a graph say was spent, and which node is the incumbent."""
    best = max(
        (e for e in graph.edges.values() if e.became_incumbent),
        key=_last_step,
        default=None,
    )
    since = -1 if best is None else best.steps[-1]
    steps = sum(len(e.steps) for e in graph.edges.values())
    last = max((s for e in graph.edges.values() for s in _evaluations(e)), default=-1)
    return Ledger(
        steps=steps,
        builds=sum(e.builds for e in graph.edges.values()),
        since_incumbent=sum(s > since for e in graph.edges.values() for s in _evaluations(e)),
        incumbent=graph.root_key if best is None or best.child is None else best.child,
        known_in_a_row=steps - 1 - last,
    )


def search_best(graph: Graph, ledger: Ledger) -> Node:
    """The best that a search has: what took the kernel's incumbent's place last. Where nothing did,
    because the kernel's incumbent is from elsewhere and better, the variant that is surest to be
    the fastest, by the low end of its interval; the root where none is faster."""
    if ledger.incumbent != graph.root_key:
        return graph.node(ledger.incumbent)
    root = graph.root
    known = (node for node in graph.nodes.values() if node.ending is Ending.faster)
    best = max(known, key=_surely, default=root)
    return best if _surely(best) > (root.speedup or 1.0) else root


def _surely(node: Node) -> float:
    """The low end of its speedup over the baseline."""
    return node.interval[0] if node.interval is not None else node.speedup or 0.0


def _evaluations(edge: Edge) -> tuple[int, ...]:
    """Its steps that evaluated something: before the last, they were lost."""
    return edge.steps[:-1] if edge.cost_nothing else edge.steps


def after(ledger: Ledger, edge: Edge, outcome: Outcome) -> Ledger:
    """The ledger with one more outcome, that of an edge; the same as `ledger_of` finds then."""
    known = edge.cost_nothing
    since = ledger.since_incumbent + (not known)
    return Ledger(
        steps=ledger.steps + 1,
        builds=ledger.builds + outcome.builds,
        since_incumbent=0 if outcome.became_incumbent else since,
        incumbent=(edge.child if outcome.became_incumbent else None) or ledger.incumbent,
        known_in_a_row=ledger.known_in_a_row + 1 if known else 0,
    )


def newest(graph: Graph) -> Edge | None:
    """The edge whose outcome was recorded last."""
    return max((e for e in graph.edges.values() if e.steps), key=_last_step, default=None)


def _last_step(edge: Edge) -> int:
    return edge.steps[-1]
