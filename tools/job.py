"""The verb `job`: wait for, list or cancel work that outlives the call that started it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ..runners import progress
from ..runners.errors import SpecError
from ..runners.model import Record
from ..store.job_rows import change_job, job_records
from ..store.jobs import JobRecord, Reply, reply_of
from ..store.records import now
from .base import MAX_WAIT_S, Arguments, Tool
from .parts.jobs import record_of

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench
    from ..store.store import JsonObject, Store

LISTED = 20
LONGEST_PAUSE_S = 0.1
REPORT_EVERY_S = 5.0


class JobArguments(Arguments):
    """Which job, and what about it."""

    job_id: str | None = None
    """the job to wait for, or to cancel"""
    wait_s: float = Field(default=30.0, ge=0, le=MAX_WAIT_S)
    """seconds to wait for its end, 0 to 45"""
    cancel: bool = False
    """drop it if it is queued; end it before its next evaluation if it runs"""
    list: bool = False
    """the newest 20 jobs, without their results"""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> JobArguments:
        if (self.job_id is None) != self.list:
            raise ValueError("give job_id, or list: true")
        return self


class JobList(Record):
    """The jobs asked for, the newest first."""

    jobs: tuple[Reply, ...]


def job(bench: Workbench, arguments: JobArguments) -> JobList:
    """Wait for, list or cancel work that outlived the call that started it. Waits up to wait_s.

    Use it with the job_id of a reply whose status was "running": the result is the one that
    the tool itself would have given. A lost connection loses no result. Not needed for calls
    that came back with status "done". Cancelling a search keeps all it evaluated.
    Example: {"job_id": "j12", "wait_s": 45} or {"list": true}
    """
    store = bench.store
    if arguments.job_id is None:
        kept = job_records(store)
        records = (kept | bench.unwritten).values()
        newest = sorted(records, key=lambda r: -int(r.job_id[1:]))[:LISTED]
        return JobList(jobs=tuple(_short(record) for record in newest))
    known = record_of(bench, arguments.job_id)
    if arguments.cancel:
        _refuse_ended(known)
        request_cancel(store, arguments.job_id)
    return JobList(jobs=(reply_of(wait_for(bench, arguments.job_id, arguments.wait_s)),))


def wait_for(bench: Workbench, job_id: str, seconds: float) -> JobRecord:
    """The job when it has ended, or as it is after so many seconds. Raises HandleUnknown.

    It looks into the store, because another process may be doing the work.
    """
    started, told_at, told, pause = time.monotonic(), 0.0, "", 0.005
    while True:
        record = record_of(bench, job_id)
        elapsed = time.monotonic() - started
        if record.ended or elapsed >= seconds:
            return record
        message = record.progress or record.state
        if message != told or elapsed - told_at > REPORT_EVERY_S:
            progress.report(message)
            told, told_at = message, elapsed
        time.sleep(min(pause, seconds - elapsed))
        pause = min(pause * 1.5, LONGEST_PAUSE_S)


def request_cancel(store: Store, job_id: str) -> None:
    """Drop a queued job; mark a running one, which then ends before its next evaluation."""

    def cancelled(value: JsonObject | None) -> JsonObject:
        record = JobRecord.model_validate(value)
        _refuse_ended(record)
        update: JsonObject = {"cancel_requested": True}
        if record.state == "queued":
            update |= {"state": "cancelled", "finished_at": now()}
        return record.model_copy(update=update).model_dump(mode="json")

    with store.transaction() as writer:
        change_job(writer, job_id, cancelled)


def _refuse_ended(record: JobRecord) -> None:
    if record.ended:
        raise SpecError(
            f"job `{record.job_id}` ended before as `{record.state}`",
            next_step="call job with its job_id and without cancel for its result",
        )


def _short(record: JobRecord) -> Reply:
    """A line of the list: what it is, and how it stands."""
    reply = reply_of(record)
    return reply.model_copy(
        update={"result": None, "progress": f"{record.tool}: {record.progress or record.state}"}
    )


TOOL = Tool(
    name="job",
    title="Wait for, list or cancel work",
    run=job,
    arguments=JobArguments,
    result=JobList,
    read_only=False,
)
