"""All parameters at once: one candidate whose knobs are the parameters of the spec."""

from __future__ import annotations

import math

from ....runners.languages import KERNEL_TYPES
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.live_parameters import live_parameters
from .tune_parameters import nearest

FEWEST = 8
"""configurations; fewer are tried one after another"""
MOST = 20_000
"""configurations of the box around the present one: what a sweep looks at as a whole"""
PRIOR = 0.25
"""above a single step, which knows less; below a rewrite, after which all are tuned again"""


def _write(state: State) -> Proposals:
    now, live = state.assignment, live_parameters(state)
    declared = {n: p for n, p in state.spec.parameters.items() if n in live}
    listed = {n: nearest(p.values, now[n]) for n, p in declared.items()}
    turned = {n: others for n, others in listed.items() if others}
    if len(turned) < 2:
        return NotApplicable("fewer than two parameters have a use here and other values")
    while math.prod(1 + len(others) for others in turned.values()) > MOST:
        longest = max(turned, key=lambda n: len(turned[n]))
        turned[longest] = turned[longest][:-1]
    if math.prod(1 + len(others) for others in turned.values()) < FEWEST:
        return NotApplicable(f"its parameters have fewer than {FEWEST} combinations")
    knobs = {n: tuple(sorted({*others, *_listed(state, n)})) for n, others in turned.items()}
    detail = f"{len(knobs)} parameters together"
    return (Candidate(method=MOVE.method, detail=detail, knobs=knobs, prior=PRIOR),)


def _listed(state: State, name: str) -> tuple[int, ...]:
    """The present value, if it is one that can be chosen."""
    now = state.assignment[name]
    return (now,) if now in state.spec.parameters[name].values else ()


MOVE = Move(
    id="sweep_parameters",
    method="tune_parameters",
    languages=KERNEL_TYPES,
    why="Tunes all parameters together by Bayesian optimisation, as one candidate of several "
    "builds. Pays where parameters depend on each other, as tiles, warps and stages do.",
    write=_write,
)
