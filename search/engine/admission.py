"""Candidates become edges: what is new at a node, what is put aside and why, what comes back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ...runners.model import Candidate
from ..graph.graph import Graph
from ..graph.nodes import Edge, Node
from ..planning.planner import Context
from ..settings import Settings

GAVE_KNOWN_CODE: Final = "wherever it was built in this search, the machine code was known already"


@dataclass
class Admitted:
    """What came of an answer."""

    edges: list[Edge] = field(default_factory=list[Edge])
    notes: list[str] = field(default_factory=list[str])
    """why candidates were dropped or put aside, for whoever proposed them"""


def admit(
    graph: Graph,
    node: Node,
    candidates: Iterable[Candidate],
    settings: Settings,
    context: Context,
) -> Admitted:
    """Turn what is new among candidates into edges of a node.

    Some are put aside at once, with the reason as their message. Priors are relative to the mean of
    those that are not.
    """
    fresh, notes = _fresh(graph, node, candidates, settings, context)
    kept = [c.prior for c, reason in fresh if not reason]
    mean = sum(kept) / len(kept) if kept else 1.0
    found = Admitted(notes=notes)
    for candidate, reason in fresh:
        edge = graph.add_edge(node.key, candidate, candidate.prior / mean)
        if reason:
            edge.state, edge.message = "done", reason
            found.notes.append(f"{candidate.method}: {reason}")
        found.edges.append(edge)
    return found


def reopen(graph: Graph, node: Node, settings: Settings, context: Context) -> list[Edge]:
    """Open those edges of a node again that were put aside for a reason that no longer holds."""
    edges = graph.edges_of(node.key)
    aside = [e for e in edges if e.pruned]
    if not aside:
        return []
    seen = {identity_of(e) for e in edges if not e.pruned}
    found = list[Edge]()
    for edge in aside:
        known = identity_of(edge) in seen
        if not known and not reason_against(edge.candidate, settings, context):
            edge.state, edge.message = "open", ""
            seen.add(identity_of(edge))
            found.append(edge)
    return found


def unknown(graph: Graph, node: Node, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates that were not proposed from the node before."""
    known = {identity_of(e) for e in graph.edges_of(node.key)}
    return [c for c in candidates if identity(c) not in known]


def reason_against(candidate: Candidate, settings: Settings, context: Context) -> str:
    """Why a candidate is put aside where it was proposed; empty: it is not."""
    gain, least = candidate.predicted_gain, settings.min_pred_gain
    if gain is not None and gain < least:
        return f"predicted gain {gain:.1%} is below min_pred_gain {least:.1%}"
    weight = context.weights.get(candidate.method, 1.0)
    if weight < settings.min_weight:
        limit = context.bottleneck or context.headroom
        because = f"; what limits the kernel: {limit}" if limit else ""
        return f"its weight {weight:.3g} is below min_weight {settings.min_weight:g}{because}"
    return GAVE_KNOWN_CODE if context.new_code(candidate) == 0 else ""


def put_aside(graph: Graph, candidate: Candidate) -> list[Edge]:
    """Close what is open anywhere in the graph and says the same as a candidate that was built, if
    that has given nothing but known code often enough; the edges that were closed."""
    known = graph.known_code
    if not known.matters or known.chance(candidate) > 0:
        return []
    found = [e for e in graph.edges.values() if e.state == "open" and not known.chance(e.candidate)]
    for edge in found:
        edge.state, edge.message = "done", GAVE_KNOWN_CODE
    return found


def identity_of(edge: Edge) -> bytes:
    """`identity` of an edge's candidate, worked out once."""
    if not edge.identity:
        edge.identity = identity(edge.candidate)
    return edge.identity


def identity(candidate: Candidate) -> bytes:
    """A hash of what a candidate changes, whatever it is called and whatever it promises."""
    changes = candidate.model_dump(
        mode="json", include={"source", "diff", "plan", "options", "parameters", "knobs"}
    )
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).digest()[:16]


def _fresh(
    graph: Graph,
    node: Node,
    candidates: Iterable[Candidate],
    settings: Settings,
    context: Context,
) -> tuple[list[tuple[Candidate, str]], list[str]]:
    """Candidates new to the node with the reasons against them, and notes on those that are not;
    one that was put aside may come back promising more."""
    edges = graph.edges_of(node.key)
    seen = {identity_of(e) for e in edges if not e.pruned}
    aside = {identity_of(e) for e in edges if e.pruned}
    fresh, notes = list[tuple[Candidate, str]](), list[str]()
    for candidate in candidates:
        which, reason = identity(candidate), reason_against(candidate, settings, context)
        if which in seen or (which in aside and reason):
            notes.append(f"{candidate.method}: was proposed here before, dropped")
        else:
            seen.add(which)
            fresh.append((candidate, reason))
    return fresh, notes
