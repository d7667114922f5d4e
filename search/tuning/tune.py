"""Tuning of one candidate with knobs: a sweep over its configurations, batch by batch.

A generator, as planners are: it yields candidates without knobs, and is sent how they ended.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from ...runners.model import Candidate
from ..sweep import Space, Sweep
from .knobs import Tuning

ASKS = 4
"""configurations looked at for each build that may be spent: known ones and those that are refused
cost none, and must come to an end, too"""


@dataclass(frozen=True, slots=True)
class Judged:
    """How a configuration ended."""

    speedup: float | None
    """over the baseline; None: it failed"""
    builds: int
    """spent on it"""


Batches = Generator[tuple[Candidate, ...], Sequence[Judged]]


def tune(tuning: Tuning, space: Space, *, builds: int, at_once: int, seed: int) -> Batches:
    """Batches of at most `at_once` candidates, until `builds` are spent or nothing is left.

    The knobs as they stand come first, if they may stay so. `space`: of the tuning.
    """
    sweep, spent, asks = Sweep(space, seed), 0, ASKS * builds
    batch = _as_it_stands(tuning, space) or _asked(sweep, min(at_once, builds))
    while batch:
        results = yield tuple(tuning.at(configuration) for configuration in batch)
        for configuration, judged in zip(batch, results, strict=True):
            spent += judged.builds
            sweep.tell(configuration, None if judged.speedup is None else 1 / judged.speedup)
        asks -= len(batch)
        batch = _asked(sweep, min(at_once, builds - spent, asks))


def _as_it_stands(tuning: Tuning, space: Space) -> list[dict[str, int]]:
    start = tuning.start
    known = tuple(start[name] for name in space.names) in space.configurations
    return [start] if known else []


def _asked(sweep: Sweep, most: int) -> list[dict[str, int]]:
    if most < 1:
        return []
    return [{name: int(value) for name, value in c.items()} for c in sweep.ask(most)]
