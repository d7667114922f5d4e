"""How much core time other programs had while a block was taken.

A team of more threads than cores waits for itself, so what its threads wait says nothing of others
(`waiting.py`). What others worked is known of the machine as a whole: what its cores did and we
did not. The system counts it in ticks of 10 ms, so it says something of a whole comparison, and
nothing of one sample.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .cores import core_seconds


class CoreTime(NamedTuple):
    """Seconds of a while, on the clock, and of cores: those that others had. Below 0 by as much as
    ticks are coarse; the sum over many whiles is right."""

    seconds: float
    others_s: float


def had_by_others(elapsed: float, cores: int, idle: float, own: float) -> float:
    """Core seconds of others, in so many seconds of some cores; `idle`, `own`: theirs and ours."""
    return cores * elapsed - idle - own


def own_seconds() -> float:
    """Processor seconds of this process and of the children that it has waited for."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


@dataclass(frozen=True)
class OthersWatch:
    """A while that began when this was made (`watch`)."""

    cores: frozenset[int]
    living_s: Callable[[], float]
    """processor seconds of children that were not waited for yet"""
    began: float
    idle: dict[int, float]
    own: float

    @classmethod
    def watch(cls, cores: frozenset[int], living_s: Callable[[], float]) -> OthersWatch:
        """From now on, on these cores: all that we and our children may use."""
        own = own_seconds() + living_s()
        return cls(cores, living_s, time.perf_counter(), _idle(cores), own)

    def until_now(self) -> CoreTime:
        """What others had meanwhile; nothing where the system does not tell."""
        elapsed, now = time.perf_counter() - self.began, _idle(self.cores)
        cores = now.keys() & self.idle.keys()
        if not cores:
            return CoreTime(0.0, 0.0)
        idle = sum(now[core] - self.idle[core] for core in cores)
        own = own_seconds() + self.living_s() - self.own
        return CoreTime(elapsed, had_by_others(elapsed, len(cores), idle, own))


def _idle(cores: frozenset[int]) -> dict[int, float]:
    return {core: idle for core, (idle, _) in core_seconds().items() if core in cores}
