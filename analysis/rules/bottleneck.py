"""What bounds a run, in one line, from counters or, less certainly, from a measured time."""

from __future__ import annotations

from ...runners.model import Record
from ...runners.profiling.model import Profile
from ..profile import names
from ..profile.shares import weighted
from ..roofline import Class, Roofline
from .model import Confidence
from .throughput import BALANCE, LATENCY


class Bottleneck(Record):
    """The class and the numbers that say so."""

    kind: Class
    text: str
    confidence: Confidence = "normal"

    def describe(self) -> str:
        """One line for people."""
        sure = " (low confidence)" if self.confidence == "low" and self.kind != "unknown" else ""
        return f"{self.kind}: {self.text}{sure}"


def bottleneck(profile: Profile | None, roofline: Roofline | None = None) -> Bottleneck:
    """Of the whole run, its launches weighted by their time; without counters, of the roofline."""
    memory = None if profile is None else weighted(profile, names.MEMORY)
    compute = None if profile is None else weighted(profile, names.SM)
    if profile is None or memory is None or compute is None:
        return _from_time(roofline)
    levels = [
        f"{word} {value:.0f} %"
        for word, name in (("DRAM", names.DRAM), ("L2", names.L2), ("L1", names.L1))
        if (value := weighted(profile, name)) is not None
    ]
    text = f"memory at {memory:.0f} % of its peak ({', '.join(levels)}), compute at {compute:.0f} %"
    if max(memory, compute) < LATENCY:
        return Bottleneck(kind="latency_bound", text=text)
    near = ", both near each other" if abs(memory - compute) < BALANCE else ""
    kind: Class = "memory_bound" if memory >= compute else "compute_bound"
    return Bottleneck(kind=kind, text=text + near)


def _from_time(roofline: Roofline | None) -> Bottleneck:
    if roofline is None:
        why = "no counters of memory and compute, and no measured time"
        return Bottleneck(kind="unknown", text=why, confidence="low")
    reach = f"{roofline.reach()}, from the declared work and the measured time alone"
    return Bottleneck(kind=roofline.kind, text=reach, confidence="low")
