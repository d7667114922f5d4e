"""Whether each call of a timed sample does its own work, of the incumbent set.

A short kernel is called many times a sample, and there are fewer seeds than calls. All sets of a
sample lie in memory that code on a GPU can read: it could look for a call that had the same values
and copy what that one computed. So calls whose values all differ are timed against as many calls
that have the same: honest code takes as long for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..checking import Checker
from ..model import GateResult
from ..pools import SeedPool
from .runs import Run

GATE = "computes_every_call"
SLOTS = 4
"""Seeds of a pool for it: one warms up, so a sample has three calls."""
BLOCKS, ROUNDS = 3, 2
GAIN = 0.25
"""Copying is worth it where it saves more. All samples on one seed must be faster by this than all
on different ones, so noise does not do it, nor do seeds that take longer than others."""


@dataclass
class Repeats:
    """Nanoseconds a call of one workload, and the runs that they are of."""

    different: list[float] = field(default_factory=list[float])
    same: list[float] = field(default_factory=list[float])
    runs: list[Run] = field(default_factory=list[Run])


def measure(checker: Checker, pool: SeedPool, variant: str, *, timeout_s: float) -> Repeats:
    """Time calls on different seeds and on one, in turn. Raises ProcessLost."""
    found, calls = Repeats(), {variant: pool.slots - 1}
    for _ in range(BLOCKS):
        for one_seed, times in ((False, found.different), (True, found.same)):
            rounds = [[variant]] * ROUNDS
            block, runs = checker.block(pool, rounds, calls, timeout_s, one_seed=one_seed)
            found.runs += runs
            times += [ns for side in block.sides for ns in side.nanoseconds]
    return found


def computes_every_call(found: Mapping[str, Repeats]) -> GateResult:
    """No workload (by label) is faster where calls have the same values."""
    shares = {w: _share(each) for w, each in found.items() if each.same and each.different}
    if not shares:
        return GateResult(gate=GATE, outcome="skipped", message="no call of it can be repeated")
    evidence = {"slowest_same_over_fastest_different": {w: round(s, 3) for w, s in shares.items()}}
    caught = [workload for workload, share in shares.items() if share * (1 + GAIN) < 1]
    if not caught:
        return GateResult(gate=GATE, outcome="passed", evidence=evidence)
    worst = min(caught, key=shares.__getitem__)
    each = found[worst]
    message = (
        f"on `{worst}` a call takes {max(each.same) * 1e-3:.3g} us or less where calls before it "
        f"had the same values, and {min(each.different) * 1e-3:.3g} us or more where they had "
        "others: it uses what they computed"
    )
    return GateResult(gate=GATE, outcome="failed", message=message, evidence=evidence)


def _share(each: Repeats) -> float:
    return max(each.same) / min(each.different)
