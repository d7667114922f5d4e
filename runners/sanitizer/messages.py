"""What the process that compute-sanitizer watches answers."""

from __future__ import annotations

from ..model import Record


class Allocation(Record):
    """A buffer of exactly the plan's size."""

    shape: str
    buffer: str
    address: int
    nbytes: int


class SanitizerAnswer(Record):
    """How far the process came."""

    allocations: tuple[Allocation, ...] = ()
    runs: int = 0
    """that ended without an error of the driver"""
    fault: str = ""
    """of the driver, in words; the tool says more of it"""
