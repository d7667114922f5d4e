"""What replacing a kernel did to a program, as it is told and kept."""

from __future__ import annotations

from typing import Literal

from ...runners.model import Record

Outcome = Literal["faster", "slower", "tie", "unstable", "few", "not equal", "never used", "failed"]
"""`few`: faster in each of less than 4 pairs, which noise can be"""


class ProgramVerdict(Record):
    """What replacing a kernel does to the whole program."""

    outcome: Outcome
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    """95 %; with fewer than 4 pairs from the least to the greatest"""
    predicted: float | None = None
    """by Amdahl's law, from the kernel's share and its own speedup; None: they are not known"""
    without: tuple[float, ...]
    replaced: tuple[float, ...]
    """costs of the runs: seconds of the wall, or the metric"""
    used: int
    """launches that were replaced, in one run"""
    notes: tuple[str, ...]
    installed: bool = False
    told: str
