"""The verb `job`: wait for work that outlives the call that started it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pydantic import Field

from ..runners import progress
from ..store.jobs import JobRecord, Reply
from .base import MAX_WAIT_S, Arguments, Tool
from .parts.jobs import record_of, reply_of

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench

PAUSES_S = (0.005, 0.5)
"""between two looks, the shortest and the longest: hundreds may wait at once"""
PAUSE_SHARE = 0.03
"""of what was waited so far: how late the end is seen at most"""
REPORT_EVERY_S = 5.0


class JobArguments(Arguments):
    """Which job, and how long to wait."""

    job_id: str
    wait_s: float = Field(default=30.0, ge=0, le=MAX_WAIT_S)
    """seconds to wait for its end, 0 to 45"""


def job(bench: Workbench, arguments: JobArguments) -> Reply:
    """Wait for work that outlived the call that started it, up to wait_s, and give its result.

    Use it with the job_id of a reply whose status was "queued" or "running". The reply is the one
    that the tool itself would have given. A lost connection, or a server that ended, loses no
    result: whoever waits takes the work over. Not needed for calls that came back with status
    "done". cancel_job ends a job; inspect what jobs lists them.
    Example: {"job_id": "j12", "wait_s": 45}
    """
    return reply_of(bench, wait_for(bench, arguments.job_id, arguments.wait_s))


def wait_for(bench: Workbench, job_id: str, seconds: float) -> JobRecord:
    """The job when it has ended, or as it is after so many seconds. Raises HandleUnknown.

    It looks into the store, because another process may be doing the work; where that one is gone,
    the work goes on here.
    """
    started, told_at, told = time.monotonic(), 0.0, ""
    while True:
        record = record_of(bench, job_id)
        elapsed = time.monotonic() - started
        if record.ended or elapsed >= seconds:
            return record
        message = record.progress or record.state
        if message != told or elapsed - told_at > REPORT_EVERY_S:
            progress.report(message)
            told, told_at = message, elapsed
        shortest, longest = PAUSES_S
        pause = min(max(shortest, PAUSE_SHARE * elapsed), longest)
        time.sleep(min(pause, seconds - elapsed))


TOOL = Tool(
    name="job",
    title="Wait for work",
    run=job,
    arguments=JobArguments,
    result=Reply,
    search_hint="wait for a running build, search or measurement; get its result",
    read_only=True,
)
