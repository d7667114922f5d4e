"""How a step of a rollout chooses: little exploration, away from what was walked."""

from __future__ import annotations

from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import Choice, best_of, options


def rollout(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """With probability epsilon any legal arm, else the one with the largest Q(a) - lambda * N_a.

    ReGraphT's rollout policy (arXiv 2510.19873), Q normalised to 0..1. Among equal ones the largest
    prior, then `rng`.
    """
    found = options(graph, node, settings)
    if rng.random() < settings.rollout_epsilon:
        return rng.choice(found).arm
    scores = [o.q - settings.rollout_lambda * o.visits for o in found]
    best = max(scores)
    ties = [o for o, score in zip(found, scores, strict=True) if score == best]
    return best_of(ties, [o.prior for o in ties], rng).arm
