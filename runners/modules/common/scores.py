"""What scoring a ModelNew found."""

from __future__ import annotations

from typing import Literal

from ...model import Record


class Trial(Record):
    """Outputs for inputs of another seed."""

    close: bool
    """within the tolerance of the type, absolute and relative"""
    worst: float
    """largest difference"""
    failed: str = ""


class Scored(Record):
    """A file with a ModelNew, and its Model. Times in milliseconds by side: `eager`, `compiled` and
    names of files."""

    kind: Literal["scored"] = "scored"
    tolerance: float
    trials: dict[str, tuple[Trial, ...]]
    """by file"""
    theirs_ms: dict[str, float]
    """means by their rules"""
    blocks_ms: dict[str, tuple[float, ...]]
    """in turns, by ours"""
    not_compiled: str = ""
    """why there is no side `compiled`"""
