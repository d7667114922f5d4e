"""All constants that read like knobs at once: one candidate whose knobs are constants of the source
and numbers that its CUDA plan defines."""

from __future__ import annotations

from ....runners.languages import KERNEL_TYPES
from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from .sweep_parameters import FEWEST
from .tune_constants import FACTORS, defines_of, knobs_of, scaled

MOST_KNOBS = 5
PRIOR = 0.2


def _write(state: State) -> Proposals:
    constants = {knob.name: knob.value for knob in knobs_of(state)}
    values = {**constants, **defines_of(state)}
    knobs = {name: _around(value) for name, value in list(values.items())[:MOST_KNOBS]}
    turned = {name: each for name, each in knobs.items() if len(each) > 1}
    configurations = 1
    for each in turned.values():
        configurations *= len(each)
    if len(turned) < 2 or configurations < FEWEST:
        return NotApplicable("fewer than two constants read like tuning knobs")
    detail = f"{', '.join(turned)} together"
    return (Candidate(method=MOVE.method, detail=detail, knobs=turned, prior=PRIOR),)


def _around(value: int) -> tuple[int, ...]:
    found = (scaled(value, times, over) for times, over, _ in FACTORS)
    return tuple(sorted({value, *(v for v in found if v is not None)}))


MOVE = Move(
    id="sweep_constants",
    method="tune_constants",
    languages=KERNEL_TYPES,
    why="Tunes the constants that read like knobs together by Bayesian optimisation, as one "
    "candidate of several builds. Pays after a rewrite that brought tiles along.",
    write=_write,
)
