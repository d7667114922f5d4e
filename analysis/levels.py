"""The hierarchical roofline: how near a run is to what each level of memory, and compute, allow.

With counters the shares are those of NVIDIA's throughput metrics, the bytes those that crossed each
level, and the intensity is the declared operations over these bytes (Yang, Kurth and Williams:
Hierarchical Roofline Analysis for GPUs, 2020). Without counters DRAM and compute alone are known,
from the declared work and the measured time: `analysis/roofline.py`, with lower confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ..runners.limits.limits import Work
from ..runners.model import Record
from ..runners.profiling.model import Profile
from .profile import names
from .profile.shares import total, weighted
from .roofline import Roofline

Where = Literal["compute", "tensor", "L1", "L2", "DRAM"]


class Level(Record):
    """One roof; None is what is not known."""

    where: Where
    share: float = Field(ge=0)
    """of the peak that was reached, 1 = all of it"""
    bytes: float | None = None
    """that crossed it in the run"""
    flops_per_byte: float | None = None
    """declared operations over these bytes"""
    confidence: Literal["normal", "low"] = "normal"

    @property
    def headroom_percent(self) -> float:
        """What is left of this roof, in percent of it."""
        return max(0.0, 100 * (1 - self.share))

    def describe(self) -> str:
        """`DRAM 89 % (11 % left, 0.52 GB, 3.1 FLOP/B)`, for people."""
        parts = [f"{self.headroom_percent:.0f} % left"]
        if self.bytes is not None:
            parts.append(f"{self.bytes / 1e9:.3g} GB")
        if self.flops_per_byte is not None:
            parts.append(f"{self.flops_per_byte:.3g} FLOP/B")
        return f"{self.where} {100 * self.share:.0f} % ({', '.join(parts)})"


_COUNTED: tuple[tuple[Where, str, tuple[str, ...]], ...] = (
    ("compute", names.SM, ()),
    ("tensor", names.TENSOR, ()),
    ("L1", names.L1, ()),
    ("L2", names.L2, (names.L2_READ, names.L2_WRITTEN)),
    ("DRAM", names.DRAM, (names.DRAM_READ, names.DRAM_WRITTEN)),
)


def levels(profile: Profile | None, work: Work, roofline: Roofline | None) -> tuple[Level, ...]:
    """The roofs that are known, nearest first; empty when none is."""
    counted = () if profile is None else _counted(profile, work)
    return tuple(sorted(counted or _timed(roofline), key=lambda level: -level.share))


def _counted(profile: Profile, work: Work) -> tuple[Level, ...]:
    found = list[Level]()
    for where, percent, parts in _COUNTED:
        share = weighted(profile, percent)
        if share is None:
            continue
        moved = _sum([total(profile, name) for name in parts])
        intensity = work.flops / moved if moved and work.flops is not None else None
        found.append(Level(where=where, share=share / 100, bytes=moved, flops_per_byte=intensity))
    return tuple(found)


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if parts and len(known) == len(parts) else None


def _timed(roofline: Roofline | None) -> tuple[Level, ...]:
    if roofline is None:
        return ()
    shares: tuple[tuple[Where, float | None], ...] = (
        ("DRAM", None if roofline.cached else roofline.share_of_copy_bandwidth),
        ("compute", roofline.share_of_peak),
    )
    return tuple(
        Level(where=where, share=share, confidence="low") for where, share in shares if share
    )
