"""How near a measured time is to what the machine allows (Williams, Waterman and Patterson:
Roofline, CACM 52(4), 2009).

What is declared as `bytes` and `flops` must be moved and computed by any implementation; at
the machine's peaks that takes a time, the *floor*. What is not declared is unknown, and said so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ..runners.errors import KernelwrightError
from ..runners.limits.limits import Peaks, Source, Work, work
from ..runners.model import Record
from ..runners.specs.spec import KernelSpec
from ..runners.wording import significant

Bound = Literal["memory", "compute", "unknown"]
Class = Literal["memory_bound", "compute_bound", "latency_bound", "unknown"]
NEAR = 0.6
"""of a peak: with the time alone, what NVIDIA's line of 60 % is with counters"""
CACHE_SHARE = 0.5
"""What of the last-level cache data can count on: others use it too, and a working set near its
size has mostly been evicted when it comes round again."""


class Roofline(Record):
    """One measured time against the floor; times in seconds, shares with 1 = all of it.

    None means unknown, because `bytes` or `flops` is not declared.
    """

    bound: Bound
    """what the declared work waits for at the machine's peaks: intensity against the ridge"""
    source: Source
    """of the peak that bounds it"""
    flops_unit: str = "fp32"
    time_s: float = Field(gt=0)
    floor_s: float | None
    """the declared work at the peaks; with one of the two undeclared, of the other alone"""
    bytes_per_s: float | None
    """declared bytes over the measured time"""
    flops_per_s: float | None
    share_of_copy_bandwidth: float | None
    share_of_peak: float | None
    share: float | None
    """of whichever bounds it"""
    cached: bool
    """the declared bytes fit in half of the last-level cache, or moved faster than a copy can: then
    memory does not bound the time"""
    headroom: float | None
    """time over floor, the largest speedup that is left; None also when memory would bound it
    and does not (`cached`)"""

    @property
    def kind(self) -> Class:
        """What bounds the time, as far as it tells: a roof where it is near, else latency."""
        if self.bound == "unknown" or self.share is None:
            return "unknown"
        if self.share < NEAR:
            return "latency_bound"
        return "memory_bound" if self.bound == "memory" else "compute_bound"

    def describe(self) -> str:
        """One line for people."""
        if self.bound == "unknown":
            return f"bound unknown ({self._missing()}){self._known()}"
        roof = f", below the {self.bound} roof" if self.kind == "latency_bound" else ""
        return f"{self.kind}{roof}: {self._reached(self.bound)}{self._left()}"

    def reach(self) -> str:
        """How much of what bounds it is reached: "61 % of the measured fp32 peak"."""
        if self.share is None:
            return f"an unknown share of the machine ({self._missing()})"
        if self.bound == "memory" and self.share > 1 and self.cached:
            return f"more than the {self.source} copy bandwidth (served from cache)"
        peak = f"{self.source} {self._peak(self.bound)}"
        if self.share > 1 and self.source == "measured":
            share = _percent(self.share)
            return f"more than the {peak} ({share}; others may have kept the machine from its peak)"
        return f"{_percent(self.share)} of the {peak}"

    def _reached(self, part: Bound) -> str:
        rate, share = (
            (self.bytes_per_s, self.share_of_copy_bandwidth)
            if part == "memory"
            else (self.flops_per_s, self.share_of_peak)
        )
        if not rate or not share:
            return f"nothing of the {self._peak(part)}"
        return f"{_of(rate, rate / share, _UNIT[part])} {self._peak(part)} ({_percent(share)})"

    def _peak(self, part: Bound) -> str:
        return "copy bandwidth" if part == "memory" else f"{self.flops_unit} peak"

    def _left(self) -> str:
        if self.bound == "memory" and self.cached:
            if (self.share or 0) > 1:
                return f"; {_CACHED}"
            return "; its bytes fit in the cache, so memory need not bound it"
        if self.headroom is None:
            return ""
        if self.headroom < 1 and self.bound == "memory":
            return "; reading alone outruns a copy"
        if self.headroom < 1:
            return f"; above the {self.source} peak: are the declared flops right?"
        return f"; at best {significant(self.headroom, 2):g}x is left"

    def _missing(self) -> str:
        if self.bytes_per_s is None and self.flops_per_s is None:
            return "the spec declares neither `io.bytes` nor `io.flops`"
        if self.bytes_per_s is None:
            return "the spec declares no `io.bytes`"
        if self.flops_per_s is None:
            return "the spec declares no `io.flops`"
        return "the declared work is zero"

    def _known(self) -> str:
        parts = list[str]()
        if self.share_of_copy_bandwidth:
            served = f", {_CACHED}" if self.cached and self.share_of_copy_bandwidth > 1 else ""
            parts.append(self._reached("memory") + served)
        if self.share_of_peak:
            parts.append(self._reached("compute"))
        return f": {', '.join(parts)}" if parts else ""


class WorkloadRoofline(Record):
    """The roofline of one workload."""

    workload: str
    roofline: Roofline

    def describe(self) -> str:
        """One line for people."""
        return f"{self.workload}: {self.roofline.describe()}"


_CACHED = "faster than a copy in memory, so it is served from cache, at least in part"
_UNIT = {"memory": "B/s", "compute": "FLOP/s"}


def roofline(work: Work, peaks: Peaks, time_s: float) -> Roofline:
    """The measured time of the work against the peaks. Raises KernelwrightError for no time."""
    if not time_s > 0:
        raise KernelwrightError(f"a measured time of {time_s:g} s", valid="more than 0 s")
    memory_s = None if work.bytes is None else work.bytes / peaks.copy_bytes_per_s
    compute_s = None if work.flops is None else work.flops / peaks.flops_per_s
    bound = _bound(memory_s, compute_s)
    floor_s = max((part for part in (memory_s, compute_s) if part is not None), default=None)
    in_cache = memory_s is not None and (
        memory_s > time_s or (work.bytes or 0) <= CACHE_SHARE * (peaks.cache_bytes or 0)
    )
    cached = in_cache and not peaks.cold
    memory_alone = compute_s is None or bound == "memory"
    return Roofline(
        bound=bound,
        source=(peaks.flops_source or peaks.source) if bound == "compute" else peaks.source,
        flops_unit=peaks.flops_unit,
        time_s=time_s,
        floor_s=floor_s,
        bytes_per_s=None if work.bytes is None else work.bytes / time_s,
        flops_per_s=None if work.flops is None else work.flops / time_s,
        share_of_copy_bandwidth=None if memory_s is None else memory_s / time_s,
        share_of_peak=None if compute_s is None else compute_s / time_s,
        share=None if bound == "unknown" or floor_s is None else floor_s / time_s,
        cached=cached,
        headroom=None if not floor_s or (cached and memory_alone) else time_s / floor_s,
    )


def summary(
    spec: KernelSpec, peaks: Peaks, ms_by_workload: Mapping[str, float]
) -> tuple[WorkloadRoofline, ...]:
    """The rooflines of the workloads that have a time, in the spec's order; milliseconds in.

    Raises KernelwrightError for a time of a workload that the spec does not have.
    """
    names = [w.name for w in spec.workloads]
    if unknown := sorted(set(ms_by_workload) - set(names)):
        raise KernelwrightError(f"no workload is named `{unknown[0]}`", valid=", ".join(names))
    return tuple(
        WorkloadRoofline(
            workload=w.name,
            roofline=roofline(work(spec.io, w.symbols), peaks, ms_by_workload[w.name] / 1e3),
        )
        for w in spec.workloads
        if w.name in ms_by_workload
    )


def reaches(rooflines: Sequence[WorkloadRoofline]) -> str:
    """What follows "the winner reaches": "61 % of the measured fp32 peak on square, ..."."""
    return ", ".join(f"{each.roofline.reach()} on {each.workload}" for each in rooflines)


def _bound(memory_s: float | None, compute_s: float | None) -> Bound:
    """Intensity below the ridge is the same as: memory takes longer than the operations."""
    if memory_s is None or compute_s is None or max(memory_s, compute_s) == 0:
        return "unknown"
    return "memory" if memory_s >= compute_s else "compute"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _of(part: float, whole: float, unit: str) -> str:
    """ "12.3 of 41 GB/s": both in the unit that suits the whole."""
    scale, prefix = next(
        ((s, p) for s, p in ((1e12, "T"), (1e9, "G"), (1e6, "M")) if whole >= s), (1.0, "")
    )
    return f"{part / scale:.3g} of {whole / scale:.3g} {prefix}{unit}"
