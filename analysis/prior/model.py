"""The values of the prior model: signals, rows of the table, and what comes out for a move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import Field

from ...runners.model import Record
from ..levels import Where

Category = Literal["compute", "gmem", "sfu", "atomics", "smem", "overlap", "schedule"]
"""What a move works on: arithmetic, memory traffic, special functions, atomics, the memory near the
core (shared memory; caches and stack on a CPU), latency hidden behind work, order and threads."""
Source = Literal["counters", "time", "build", "structure", "language"]
"""Where a signal comes from: a profile, the measured time, launch plan and compiler, the PTX, the
kernel's language."""
LOW_CONFIDENCE = 0.5
"""the strength of what is known from the declared work and the measured time alone, or from too few
samples, over that of what was counted"""
STATIC = 0.5
"""the same of what is known before it runs: it says what is done, and not how long it takes"""
ALL_ROOFS: frozenset[Where] = frozenset(get_args(Where))


@dataclass(frozen=True, slots=True)
class MoveFacts:
    """What the model needs to know of a move."""

    id: str
    category: Category
    base: float
    """weight without any signal, relative to other moves; more than 0"""
    relieves: frozenset[Where]
    """roofs of the hierarchical roofline that carry less load after it"""


class Signal(Record):
    """Something that speaks for some moves and perhaps against others."""

    id: str
    """of a rule, of a bottleneck class, or of a fact of the structure (`structure.py`)"""
    strength: float = Field(ge=0, allow_inf_nan=False)
    """0: not at all; 1: as bad as its rule knows, for all of the run's time, with counters"""
    source: Source
    evidence: str = ""
    """what is the case, and where: "region R7: 8 of 8 global accesses move 4 B" """


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: a signal of strength 1 multiplies the odds of the move by `weight`."""

    signal: str
    move: str
    weight: float
    """above 1 the signal asks for the move, below 1 it speaks against it"""
    why: str
    basis: str
    """where the weight is from"""


class Reason(Record):
    """One factor of a move's weight, and why."""

    signal: str
    source: Source
    factor: float
    """what its odds were multiplied by: the row's weight to the power of the signal's strength"""
    evidence: str
    why: str
    basis: str

    def describe(self) -> str:
        """`x3.2 poor_coalescing`, for people; the evidence is the signal's own."""
        return f"x{self.factor:.2g} {self.signal}"


class MovePrior(Record):
    """How likely a move is the one to make next, among those that were weighed together."""

    move: str
    category: Category
    probability: float
    """of all moves that were weighed: they add up to 1"""
    factor: float
    """what the evidence made of its base weight; 1: nothing speaks for or against it"""
    reasons: tuple[Reason, ...] = ()
    """the largest factor first"""


def merged(signals: Iterable[Signal]) -> tuple[Signal, ...]:
    """One signal of each id, the strongest: counters and structure may say the same thing."""
    found = dict[str, Signal]()
    for each in signals:
        if each.id not in found or found[each.id].strength < each.strength:
            found[each.id] = each
    return tuple(found[name] for name in sorted(found))
