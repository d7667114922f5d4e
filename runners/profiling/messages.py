"""What the server and the process that ncu watches say to each other, as files."""

from __future__ import annotations

from ..model import Record
from ..sanitizer.messages import Watched

ANSWER = "answer.json"


class ProfileJob(Record):
    """One shape of a variant, of which one run is to be profiled."""

    modules: dict[str, str]
    """paths by hash"""
    shape: Watched
    registry: str
    """where processes on GPUs note themselves (`device/registry.py`)"""
    wall_s: float
    """after which the process ends by itself, should nobody be left to end it"""


class ProfileAnswer(Record):
    """How far the process came."""

    finished: bool = False
    """the profiled run ended without an error of the driver"""
    fault: str = ""
    """of the driver, in words"""
