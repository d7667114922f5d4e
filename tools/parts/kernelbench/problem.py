"""A problem in KernelBench's form as somebody wants it solved, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....analysis.modules.scores import SideScore
from ....runners.model import Record


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What somebody wants solved."""

    path: Path
    outdir: Path
    level: int = 1
    device: str = "auto"
    builds: int = 50
    seconds: float | None = None
    within_s: float | None = None
    """seconds after which no further kernel is opened, the largest come first; what is left is
    ATen's"""
    seed: int = 0
    compiled: bool = True
    """the ModelNew is timed beside torch.compile too"""
    gpus: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


class KernelOutcome(Record):
    """A kernel that was cut out of the problem."""

    entry: str
    writes: str
    operations: int
    builds: int
    """that its search might spend"""
    speedup: float | None = None
    """of its best variant over the plain kernel"""
    used: bool = False
    """it is in the ModelNew; else ATen computes it"""
    why: str = ""


class Solved(Record):
    """What came of a problem."""

    problem: str
    level: int
    device: str
    kernels: tuple[KernelOutcome, ...]
    left: dict[str, str]
    """operators that no kernel was cut for, by value, and why"""
    model_new: str
    errors: tuple[str, ...]
    """of KernelBench's static checker"""
    warnings: tuple[str, ...]
    trials: tuple[bool, ...]
    tolerance: float
    scores: tuple[SideScore, ...]
    not_compiled: str = ""
    nothing: str = ""
    """why no kernel is in the ModelNew, which is not scored then: it is the Model's own calls"""

    @property
    def accepted(self) -> bool:
        """Right in every trial, and without an error of the checker."""
        return not self.errors and bool(self.trials) and all(self.trials)
