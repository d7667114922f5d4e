"""Two outdirs side by side: by kernel, whose best is faster, and whether that is more than noise.

Pure. Speedups are over the baseline that each outdir timed by itself, so they say something of each
other only where both baselines are the same source under the same spec; otherwise times are told,
and no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .report import Interval, KernelReport, OutdirReport, VariantReport


class Change(StrEnum):
    """What became of a kernel's best."""

    better = "better"
    worse = "worse"
    same = "no difference beyond the intervals"
    other_kernel = "another kernel"
    """its source, spec or environment is another one: speedups are over different baselines"""
    only_before = "only before"
    only_after = "only after"


@dataclass(frozen=True, slots=True)
class Compared:
    """A kernel of two outdirs. `ratio`: how much faster the best is after than before."""

    name: str
    before: KernelReport | None
    after: KernelReport | None
    change: Change
    ratio: float | None = None
    interval: Interval | None = None
    """from the far ends of both intervals: wider than 95 %, as nobody timed them side by side"""


def compare(before: OutdirReport, after: OutdirReport) -> tuple[Compared, ...]:
    """Every kernel of either, by name; of several with one name the one opened last."""
    old, new = _by_name(before), _by_name(after)
    return tuple(_compared(name, old.get(name), new.get(name)) for name in dict.fromkeys(old | new))


def _by_name(report: OutdirReport) -> dict[str, KernelReport]:
    return {kernel.name: kernel for kernel in report.kernels}


def _compared(name: str, before: KernelReport | None, after: KernelReport | None) -> Compared:
    if before is None or after is None:
        missing = Change.only_before if after is None else Change.only_after
        return Compared(name, before, after, missing)
    if before.kernel_id != after.kernel_id:
        return Compared(name, before, after, Change.other_kernel)
    if before.best.variant_id == after.best.variant_id:
        return Compared(name, before, after, Change.same)
    (old, old_low, old_high), (new, new_low, new_high) = _figure(before.best), _figure(after.best)
    low, high = new_low / old_high, new_high / old_low
    change = Change.better if low > 1 else Change.worse if high < 1 else Change.same
    return Compared(name, before, after, change, new / old, (low, high))


def _figure(best: VariantReport) -> tuple[float, float, float]:
    """Speedup, low and high; 1 for a baseline."""
    speedup = 1.0 if best.speedup is None else best.speedup
    low, high = best.interval or (speedup, speedup)
    return speedup, low, high
