"""What the server and the process that compute-sanitizer watches say to each other, as files."""

from __future__ import annotations

from ..model import Record
from ..plans.plan import LaunchPlan
from ..runner_messages import Pool

ANSWER = "answer.json"


class Watched(Record):
    """One shape: its plan, and a file with the inputs of one seed."""

    pool: Pool
    plan: LaunchPlan
    inputs: str


class SanitizerJob(Record):
    """A variant to be run on some small shapes."""

    modules: dict[str, str]
    """paths by hash"""
    shapes: tuple[Watched, ...]
    registry: str
    """where processes on GPUs note themselves (`device/registry.py`)"""
    wall_s: float
    """after which the process ends by itself, should nobody be left to end it"""


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
