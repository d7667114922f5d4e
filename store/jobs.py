"""What the store keeps of a job, and what is told of it."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import ConfigDict

from ..runners.model import Record

JobState = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
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
    result: dict[str, Any] | None = None
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in ("queued", "running")


class JobReply(Record, Generic[R]):
    """The answer of a tool that works: its result, or where to ask for it."""

    status: JobState
    job_id: str
    result: R | None = None
    """when status is done"""
    progress: str | None = None
    error: str | None = None
    next: str | None = None


class AnyResult(Record):
    """The result of whichever tool the job ran."""

    model_config = ConfigDict(extra="allow", frozen=True)


Reply = JobReply[AnyResult]


def reply_of(record: JobRecord) -> Reply:
    """What is told of a job."""
    result = None if record.result is None else AnyResult.model_validate(record.result)
    return Reply(
        status=record.state,
        job_id=record.job_id,
        result=result,
        progress=record.progress or None if not record.ended else None,
        error=record.error or None,
        next=_next(record),
    )


def _next(record: JobRecord) -> str | None:
    match record.state:
        case "queued" | "running":
            return f'the work goes on; call job with job_id "{record.job_id}" to wait for it'
        case "interrupted":
            return f"look at what it left (inspect), then call {record.tool} again"
        case "cancelled":
            return f"what was evaluated before is kept; call {record.tool} again to go on"
        case _:
            return None
