"""What the server and a process that a tool watches say to each other, as files in one folder."""

from __future__ import annotations

from ..model import Record
from ..plans.plan import LaunchPlan
from ..protocol.messages import Pool

JOB, ANSWER = "job.json", "answer.json"


class Watched(Record):
    """One shape: its plan, and a file with the inputs of one seed."""

    pool: Pool
    plan: LaunchPlan
    inputs: str


class WatchedJob(Record):
    """A variant to be run on some small shapes."""

    modules: dict[str, str]
    """paths by hash"""
    shapes: tuple[Watched, ...]
    registry: str
    """where processes on GPUs note themselves (`device/registry.py`)"""
    wall_s: float
    """after which the process ends by itself, should nobody be left to end it"""
