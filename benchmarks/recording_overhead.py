"""What the recorder costs a running program: fresh processes in turns, and an interval.

Each round runs the program once in every way, the order turned by one from round to round: `plain`,
`counted` (launches alone) and `recorded` (as `kernelwright record` does: times in windows); the
first round also with the times of `all` launches. No round is begun that would not end in time.
Told are the medians of a step by way, the cost of each way over `plain` with a 95 % interval over
rounds, and by how much shares of kernels from windows differ from those of every launch.
"""

from __future__ import annotations

import math
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from kernelwright.analysis.programs.gains import shares
from kernelwright.analysis.programs.groups import grouped
from kernelwright.runners.comparing.timing import student
from kernelwright.runners.recording.fronts import Asked, environment_for
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recorded import Recording
from kernelwright.runners.recording.recording import Program
from kernelwright.runners.recording.running import run_program

TIMES: Mapping[str, str | None] = {"plain": None, "counted": "0", "recorded": "1", "all": "2"}
"""what the recorder is told of times, by way"""
ONCE = "all"
"""the way that is tried in the first round alone"""


@dataclass(frozen=True)
class Cost:
    """A program's steps, in milliseconds by way and round."""

    steps: Mapping[str, Sequence[float]]
    launches: int
    timed: int
    """launches whose time was taken in the last round, of `launches`"""
    apart: float
    """most that a kernel's share by windows lies from its share by every launch"""

    def told(self) -> dict[str, Any]:
        """As facts; `percent` and `interval` are of `recorded` over `plain`."""
        over = {way: percent(self.steps[way], self.steps["plain"]) for way in TIMES}
        return {
            **{f"{way}_ms": list(steps) for way, steps in self.steps.items()},
            "over_plain": {way: over[way] for way in TIMES if way != "plain"},
            "percent": over["recorded"]["percent"],
            "interval": over["recorded"]["interval"],
            "launches": self.launches,
            "timed": self.timed,
            "shares_apart": self.apart,
        }


def cost_of(ran: Program, step: str, place: Path, rounds: int, seconds: float) -> Cost:
    """Run a program that prints its median step as the regular expression `step` finds it."""
    steps = dict[str, list[float]]({way: [] for way in TIMES})
    began, ways = time.monotonic(), [way for way in TIMES if way != ONCE]
    for number in range(rounds):
        round_began, turn = time.monotonic(), number % len(ways)
        for way in [*ways[turn:], *ways[:turn], *([] if number else [ONCE])]:
            steps[way].append(_step(ran, step, place / way, TIMES[way]))
            print(f"    {way} {steps[way][-1]:.4f} ms", flush=True)
        if 2 * time.monotonic() - round_began - began > seconds:
            break
    recorded, every = (_recording(place / way) for way in ("recorded", "all"))
    plain = sum(c.count - c.captured for c in recorded.configurations)
    timed = sum(c.timed for c in recorded.configurations)
    by_windows, by_all = (_shares(each) for each in (recorded, every))
    apart = max(abs(by_windows.get(key, 0.0) - share) for key, share in by_all.items())
    return Cost(steps, plain, timed, apart)


def _step(ran: Program, step: str, place: Path, times: str | None) -> float:
    environment: dict[str, str] = {}
    if times is not None:
        shutil.rmtree(place, ignore_errors=True)  # each run of a program has a folder in it
        environment = environment_for("cupti", place, Asked())
        environment["KERNELWRIGHT_TIMES"] = times
    done = run_program(
        ran.command,
        folder=ran.folder,
        scratch=place.with_name(f"{place.name}-output"),
        environment=environment,
        timeout_s=ran.timeout_s,
    )
    found = re.findall(step, done.stdout)
    if not found:
        raise RuntimeError(f"the program told no step: {done.ending}\n{done.stderr[-800:]}")
    return float(found[-1])


def _recording(place: Path) -> Recording:
    return max(read_recordings(place), key=lambda each: each.launches)


def _shares(recording: Recording) -> dict[tuple[str, object, object], float]:
    found = dict[tuple[str, object, object], float]()
    for each in shares(grouped(recording)):
        c = each.group.configuration
        key = (c.function.name, c.grid, c.block)
        found[key] = found.get(key, 0.0) + each.share
    return found


def percent(steps: Sequence[float], plain: Sequence[float]) -> dict[str, Any]:
    """Cost in percent, the mean over rounds of the ratio's logarithm, with a 95 % interval by
    Student's distribution; None: of a single round there is none."""
    logs = [math.log(a / b) for a, b in zip(steps, plain, strict=False)]
    half = student(len(logs)) * stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None
    ends = None if half is None else (mean(logs) - half, mean(logs) + half)
    return {
        "percent": 100 * math.expm1(mean(logs)),
        "interval": ends and [100 * math.expm1(end) for end in ends],
        "of_medians": 100 * (median(steps) / median(plain) - 1),
    }
