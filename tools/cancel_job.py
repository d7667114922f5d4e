"""The verb `cancel_job`: end work that outlives the call that started it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ..runners.errors import SpecError
from ..store.job_rows import change_job
from ..store.jobs import JobRecord, Reply
from ..store.records import now
from .base import MAX_WAIT_S, Arguments, Tool
from .job import wait_for
from .parts.calls import call
from .parts.jobs import record_of, reply_of

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench
    from ..store.store import JsonObject, Store


class CancelJobArguments(Arguments):
    """Which job."""

    job_id: str
    wait_s: float = Field(default=30.0, ge=0, le=MAX_WAIT_S)
    """seconds to wait for its end, 0 to 45"""


def cancel_job(bench: Workbench, arguments: CancelJobArguments) -> Reply:
    """Cancel work that is queued or running: builds and kernels of it are killed within 2 s.

    The reply has status "cancelled" and says what is kept: a search keeps every evaluation that had
    ended, and goes on with the call in `next`. A job that has ended cannot be cancelled; its result
    comes from job.
    Example: {"job_id": "j12"}
    """
    _refuse_ended(record_of(bench, arguments.job_id))
    request_cancel(bench.store, arguments.job_id)
    return reply_of(bench, wait_for(bench, arguments.job_id, arguments.wait_s))


def request_cancel(store: Store, job_id: str) -> None:
    """Drop a queued job; mark a running one, whose process then ends it."""

    def cancelled(value: JsonObject | None) -> JsonObject:
        record = JobRecord.model_validate(value)
        _refuse_ended(record)
        update: JsonObject = {"cancel_requested": True}
        if record.state == "queued":
            update |= {"state": "cancelled", "finished_at": now(), "result": record.so_far}
        return record.model_copy(update=update).model_dump(mode="json")

    with store.transaction() as writer:
        change_job(writer, job_id, cancelled)


def _refuse_ended(record: JobRecord) -> None:
    if record.ended:
        raise SpecError(
            f"job `{record.job_id}` ended before as `{record.state}`",
            next_step=f"{call('job', job_id=record.job_id)} gives its result",
        )


TOOL = Tool(
    name="cancel_job",
    title="Cancel work",
    run=cancel_job,
    arguments=CancelJobArguments,
    result=Reply,
    search_hint="stop, abort, kill a running build, search or measurement",
    read_only=False,
)
