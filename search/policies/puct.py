"""Policy `puct`: what was best so far, and what priors hold for likely, against visits."""

from __future__ import annotations

import math
from functools import lru_cache
from random import Random

from ..graph.graph import Graph
from ..graph.nodes import Node
from ..settings import Settings
from .selection import EXPAND, Choice, Columns, Policy, best_of, columns, visits_of


def puct(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """The arm with the largest score(n,a) = Q(a) + c * P(a) * sqrt(N_n) / (1 + N_a).

    PUCT of AlphaZero (Silver et al. 2017), which with backup `max` has max-type values in place of
    means (as MaxCode and AdaExplore do). Q, N: `selection.columns`. N_a are the *edge's* visits,
    never the child's, which other parents share (graph form: Czech et al. 2020). P(a): the edge's
    share of the priors of all legal arms; at the root with noise (`noisy`). Equal scores: `rng`.
    """
    found = columns(graph, node, settings)
    return best_of(found.arms, _scored(graph, node, settings, found), rng)


def scores(graph: Graph, node: Node, settings: Settings) -> list[float]:
    """Of the legal arms, in the order of `columns`."""
    return _scored(graph, node, settings, columns(graph, node, settings))


def _scored(graph: Graph, node: Node, settings: Settings, found: Columns) -> list[float]:
    _, values, priors, total, visits = found
    explore = settings.c_puct * math.sqrt(visits_of(node, settings))
    if node.key == graph.root_key and settings.noise_fraction:
        priors = noisy(found, settings)
        total = sum(priors)
    explore /= total
    known = zip(values, priors, visits, strict=True)
    return [q + explore * p / (1 + n) for q, p, n in known]


def noisy(found: Columns, settings: Settings) -> list[float]:
    """(1 - fraction) * P(a) + fraction * Dirichlet(alpha), AlphaZero's noise at the root.

    A Dirichlet draw is gamma draws over their sum. Each arm has its own, made from the seed and
    the arm's id alone: it stays the same for the whole search, whichever arms are beside it.
    """
    draws = [_gamma(settings.seed, settings.noise_alpha, _name(arm)) for arm in found.arms]
    total, fraction = sum(draws), settings.noise_fraction
    return [
        (1 - fraction) * prior / found.total + fraction * draw / total
        for prior, draw in zip(found.priors, draws, strict=True)
    ]


def _name(arm: Choice) -> str:
    return "expand" if arm is EXPAND else arm.edge_id


@lru_cache(maxsize=1 << 16)
def _gamma(seed: int, alpha: float, arm: str) -> float:
    least = 1e-300  # a small alpha underflows, and the sum must not be 0
    return max(Random(f"{seed}:noise:{arm}").gammavariate(alpha, 1.0), least)


POLICY = Policy(puct, scores=scores)
