"""What the store keeps of a job, and what is told of it."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import ConfigDict

from ..runners.model import Record

JobState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
UNDER_WAY = ("queued", "running")
"""the states that something is still to come of"""
R = TypeVar("R", bound=Record)


class Owner(Record):
    """The process that has a job: its number, and when it started (numbers are used again)."""

    pid: int
    started: int
    """clock ticks after the machine's start"""


class JobRecord(Record):
    """A job as the store keeps it. Its result is on disk before anyone is told of it."""

    job_id: str
    tool: str
    arguments: dict[str, Any]
    """without wait_s"""
    state: JobState = "queued"
    owner: Owner
    submitted_at: str
    finished_at: str = ""
    attempts: int = 0
    """how often it was begun"""
    progress: str = ""
    cancel_requested: bool = False
    client: str = ""
    """who asked for it; clients take turns"""
    turn: int = 0
    """of two queued jobs the one with the smaller turn is done first, then the older one"""
    request: str = ""
    """names the call that brought it, so that the same call sent again meets it"""
    result: dict[str, Any] | None = None
    """of the tool; where the job did not end as `done`, what it had found by then"""
    so_far: dict[str, Any] | None = None
    """what came of it until its last checkpoint, in the shape of the result"""
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in UNDER_WAY


class Amount(Record):
    """Of a search's job: spent, or left."""

    steps: int
    builds: int


class JobReply(Record, Generic[R]):
    """The answer of a tool that works: its result, or where to ask for it."""

    status: JobState
    job_id: str
    tool: str
    kernel_id: str | None = None
    search_id: str | None = None
    ahead: int | None = None
    """of a queued job: how many come before it, unless others ask meanwhile"""
    spent: Amount | None = None
    """of a search: steps of this job, builds of the search"""
    left: Amount | None = None
    seconds: float
    """since it was submitted, until it ended"""
    result: R | None = None
    """when status is done; else what it had found when it ended"""
    progress: str | None = None
    kept: str | None = None
    """of a job that was cancelled or interrupted: what of it stays"""
    error: str | None = None
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


class AnyResult(Record):
    """The result of whichever tool the job ran."""

    model_config = ConfigDict(extra="allow", frozen=True)


Reply = JobReply[AnyResult]
