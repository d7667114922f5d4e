"""Which processor cores a timed host kernel runs on, and which its runner keeps to.

The runner waits and reads the clock on one core; executors work on others. Code that starts no
thread is pinned to a single core, the same for all sides of a block, so that none of them is
moved, or shares a core with the runner, by luck. Code that may start threads gets all cores but
the runner's where there are three or more, and all where there are two: a team of two threads
on one core would be another measurement. Where no core has been idle for half of the time of the
last block, others are at work on this machine and nobody is pinned to wait behind them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..machine_code.elf import read_sections

THREADING = ("pthread_create", "thrd_create", "_ZNSt6thread")
"""beginnings of imported names by which code may start threads"""
QUIET_LIBRARIES = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "libc++.", "libc++abi.", "ld-linux")
"""libraries that start no thread unless asked to by such a name"""


TICKS = os.sysconf("SC_CLK_TCK")
BUSY = 0.5
"""share of idle time, below which a core is busy"""
SHORTEST_S = 0.05
"""of which idle time says something: a few ticks"""


@dataclass(frozen=True, slots=True)
class Cores:
    """Where a block runs; empty sets: the system decides."""

    runner: frozenset[int] = frozenset()
    single: frozenset[int] = frozenset()
    """for code that starts no threads"""
    team: frozenset[int] = frozenset()

    def of(self, threaded: bool) -> frozenset[int]:
        """For a variant."""
        return self.team if threaded else self.single


def choose(allowed: frozenset[int], idle: Mapping[int, float]) -> Cores:
    """Cores of a block. `idle`: by core, the share of the time that it did nothing lately.

    The idlest works, the next idlest waits. With one core there is nothing to choose.
    """
    if len(allowed) < 2:
        return Cores()
    work, wait = sorted(allowed, key=lambda core: (-idle.get(core, 0.0), core))[:2]
    if idle.get(work, 0.0) < BUSY:
        return Cores(allowed, allowed, allowed)
    team = allowed - {wait} if len(allowed) > 2 else allowed
    return Cores(frozenset({wait}), frozenset({work}), team)


class CoreWatch:
    """Picks the cores of each block by what was idle since the block before."""

    def __init__(self) -> None:
        self.allowed = frozenset(os.sched_getaffinity(0))
        self._before = core_seconds()

    def next_block(self) -> Cores:
        """The cores of a block; this process moves to its own."""
        now, before = core_seconds(), self._before
        if any(now[core][1] - before[core][1] >= SHORTEST_S for core in now.keys() & before.keys()):
            self._before = now
        shares = dict[int, float]()
        for core in now.keys() & before.keys():
            (idle, total), (idle_before, total_before) = now[core], before[core]
            shares[core] = (idle - idle_before) / max(total - total_before, 1e-9)
        cores = choose(self.allowed, shares)
        if cores.runner:
            os.sched_setaffinity(0, cores.runner)
        return cores


def drawn(allowed: frozenset[int], threaded: bool, rng: random.Random) -> frozenset[int]:
    """Cores of a check: some that a block may have, on an idle machine or a busy one. Where it may
    run tells a kernel nothing of whether it is timed."""
    if len(allowed) < 2 or rng.random() < 0.5:
        return allowed
    one = frozenset({rng.choice(sorted(allowed))})
    if not threaded:
        return one
    return allowed - one if len(allowed) > 2 else allowed


def pin(pid: int, cores: frozenset[int]) -> None:
    """Keep a process that has just been started to some cores; empty: wherever it likes."""
    if cores:
        with suppress(ProcessLookupError):  # whoever waits for it will see that it ended
            os.sched_setaffinity(pid, cores)


@cache
def may_start_threads(module: Path) -> bool:
    """Whether a shared object imports what starts threads, or a library that might."""
    try:
        sections = read_sections(module.read_bytes())
    except ValueError:
        return True  # loading it will say what is wrong
    names = b"".join(s.content for s in sections if s.name == ".dynstr").decode("ascii", "replace")
    for name in names.split("\0"):
        library = name.startswith(("lib", "ld-")) and ".so" in name
        if name.startswith(THREADING) or (library and not name.startswith(QUIET_LIBRARIES)):
            return True
    return False


def core_seconds() -> dict[int, tuple[float, float]]:
    """By core: how long it has been idle, also waiting for a disk, and how long the system has
    counted (`/proc/stat`)."""
    found = dict[int, tuple[float, float]]()
    with suppress(OSError):
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *ticks = line.split()
            if name.startswith("cpu") and name[3:].isdigit():
                seconds = [int(each) / TICKS for each in ticks[:8]]
                found[int(name[3:])] = (seconds[3] + seconds[4], sum(seconds))
    return found
