"""What could be done to a module, ranked by what it would gain: one kind of finding a file."""

from __future__ import annotations

from . import (
    attention,
    batch,
    device,
    growing,
    host,
    layout,
    memory,
    precision,
    routing,
    tables,
    tiny,
)
from .base import Finder, Found, Opportunity
from .pages import SKILLS

FINDERS: tuple[Finder, ...] = (
    *device.FINDERS,
    *host.FINDERS,
    *tiny.FINDERS,
    *attention.FINDERS,
    *growing.FINDERS,
    *tables.FINDERS,
    *routing.FINDERS,
    *precision.FINDERS,
    *layout.FINDERS,
    *batch.FINDERS,
    *memory.FINDERS,
)
LEAST_GAIN = 1.01
"""less is not told, but for findings that have no number"""


def opportunities(found: Found) -> tuple[Opportunity, ...]:
    """All of them, the largest predicted gain first; then those without a number."""
    every = [each for finder in FINDERS for each in finder(found)]
    told = [each for each in every if each.speedup is None or each.speedup >= LEAST_GAIN]
    return tuple(sorted(told, key=lambda each: -(each.speedup or 0.0)))


__all__ = ["FINDERS", "SKILLS", "Found", "Opportunity", "opportunities"]
