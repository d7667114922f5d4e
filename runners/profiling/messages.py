"""What the process that ncu watches answers."""

from __future__ import annotations

from ..model import Record


class ProfileAnswer(Record):
    """How far the process came."""

    finished: bool = False
    """the profiled run ended without an error of the driver"""
    fault: str = ""
    """of the driver, in words"""
