"""Policy `puct`: what was best so far, and what priors hold for likely, against visits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from random import Random

from ..graph import Graph, Node
from ..selection import EXPAND, Choice, Option, best_of, options, visits_of
from ..settings import Settings


def puct(graph: Graph, node: Node, settings: Settings, rng: Random) -> Choice:
    """The arm with the largest score(n,a) = Q(a) + c * P(a) * sqrt(N_n) / (1 + N_a).

    PUCT of AlphaZero (Silver et al. 2017), which with backup `max` has max-type values in place of
    means (as MaxCode and AdaExplore do). Q, N: `selection.options`. N_a are the *edge's* visits,
    never the child's, which other parents share (graph form: Czech et al. 2020). P(a): the edge's
    share of the priors of all legal arms; at the root with noise (`noisy`). Equal scores: `rng`.
    """
    found = options(graph, node, settings)
    shares = _shares(found)
    if node.key == graph.root_key and settings.noise_fraction:
        shares = noisy(found, shares, settings)
    explore = settings.c_puct * math.sqrt(visits_of(node, settings))
    scores = [o.q + explore * p / (1 + o.visits) for o, p in zip(found, shares, strict=True)]
    return best_of(found, scores, rng).arm


def noisy(found: Sequence[Option], shares: Sequence[float], settings: Settings) -> list[float]:
    """(1 - fraction) * P(a) + fraction * Dirichlet(alpha), AlphaZero's noise at the root.

    A Dirichlet draw is gamma draws over their sum. Each arm has its own, made from the seed and
    the arm's id alone: it stays the same for the whole search, whichever arms are beside it.
    """
    draws = [_gamma(settings.seed, settings.noise_alpha, _name(o.arm)) for o in found]
    total, fraction = sum(draws), settings.noise_fraction
    return [
        (1 - fraction) * share + fraction * draw / total
        for share, draw in zip(shares, draws, strict=True)
    ]


def _shares(found: Sequence[Option]) -> list[float]:
    total = sum(o.prior for o in found)
    return [o.prior / total for o in found]


def _name(arm: Choice) -> str:
    return "expand" if arm is EXPAND else arm.edge_id


@lru_cache(maxsize=1 << 16)
def _gamma(seed: int, alpha: float, arm: str) -> float:
    least = 1e-300  # a small alpha underflows, and the sum must not be 0
    return max(Random(f"{seed}:noise:{arm}").gammavariate(alpha, 1.0), least)
