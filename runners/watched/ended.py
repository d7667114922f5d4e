"""How a run of a tool ended; a value, for those that judge it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """How the tool ended."""

    returncode: int
    timed_out: bool
    words: str
    """as `Child.describe_end`"""
    log: str = ""
    """what it printed"""
