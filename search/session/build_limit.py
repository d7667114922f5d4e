"""How long a build may take within a sweep.

A sweep learns from a batch of configurations at a time, so that it decides the same from the same
results when it goes on after an interruption. Thus a batch lasts as long as its slowest build, and
compilers need tens of seconds for a few configurations: on an H200 ptxas held up a sweep of a
Triton stencil for over 10 s at a time, with hundreds of elements a thread in registers. Which
values these are, only the compiler knows; a build that takes far longer than those beside it
rarely is the best one, and the rest of the budget finds out more.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from ...runners.model import BuildFacts, Evaluation

BESIDE_IT = 3
"""A build may take as long as so many of the others take in all: those that are beside it in a
batch (`trying.AT_ONCE`). A GPU checks and times them meanwhile, so that until then nobody waits."""
SHORTEST_S = 5.0
"""from reasoning: what keeps a machine busy for a moment makes no build fail"""


BEFORE_ANY = 4
"""times the limit that the parent's build would set, while no sibling was built: a sweep may change
what a compiler has to do, and where it does, all of its configurations take longer"""


def build_limit(siblings: Iterable[Evaluation], parent: Evaluation | None = None) -> float | None:
    """Seconds that a build may take, from evaluations of the same sweep so far, or before there are
    any from that of the variant it starts from. None: nothing is known, as long as any build."""
    if known := [_seconds(each, each.build) for each in siblings if each.build is not None]:
        return max(SHORTEST_S, BESIDE_IT * median(known))
    if parent is None or parent.build is None:
        return None
    return BEFORE_ANY * max(SHORTEST_S, BESIDE_IT * _seconds(parent, parent.build))


def _seconds(evaluation: Evaluation, build: BuildFacts) -> float:
    """Of build, checks and comparison. The build counts with what the compiler took, also if it
    was built ahead or found in a cache."""
    return build.seconds + sum(evaluation.seconds.get(s, 0.0) for s in ("check", "compare"))
