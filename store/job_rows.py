"""Jobs as the store has them, whoever works on them."""

from __future__ import annotations

from collections.abc import Callable

from .codec import JsonObject
from .jobs import UNDER_WAY, JobRecord
from .store import Store
from .writer import Writer

TABLE, META = "jobs", "meta"
NUMBERS = "sequence:jobs"
"""the key in `meta` of the number that was given last"""
REQUEST = "request/"
"""keys in `meta`, by request: a broker looks for one at every call, however many jobs there are"""


def job_record(store: Store, job_id: str) -> JobRecord:
    """A job. Raises HandleUnknown."""
    return store.require_record(TABLE, job_id, JobRecord)


def job_records(store: Store) -> dict[str, JobRecord]:
    """Every job by its id, in order of ids as texts."""
    return {job_id: JobRecord.model_validate(row) for job_id, row in store.items(TABLE)}


def unfinished_jobs(store: Store) -> list[JobRecord]:
    """Those that are queued or running, in no order; however many have ended, none is read."""
    rows = store.having(TABLE, "state", UNDER_WAY)
    return [JobRecord.model_validate(row) for _, row in rows]


def newest_jobs(store: Store, limit: int, offset: int = 0) -> list[JobRecord]:
    """So many jobs, the newest first, without the first `offset`."""
    rows = store.newest(TABLE, limit, offset)
    return [JobRecord.model_validate(row) for _, row in rows]


def job_count(store: Store) -> int:
    """How many there are."""
    return store.count(TABLE)


def job_of_request(store: Store, request: str) -> str | None:
    """The job that a request brought; None: none."""
    known = store.get(META, REQUEST + request)
    return None if known is None else str(known["job_id"])


def is_cancel_requested(store: Store, job_id: str) -> bool:
    """Whether somebody wants a job to end; asked many times, so nothing else of it is read."""
    return bool(store.require(TABLE, job_id)["cancel_requested"])


def job_in(writer: Writer, job_id: str) -> JobRecord:
    """A job as a transaction sees it."""
    return JobRecord.model_validate(writer.get(TABLE, job_id))


def next_job_id(writer: Writer) -> str:
    """A number that no other job has, nor had."""
    last = writer.update(META, NUMBERS, lambda value: {"last": (value or {"last": 0})["last"] + 1})
    return f"j{last['last']}"


def put_job(writer: Writer, record: JobRecord) -> None:
    """Write a job."""
    if record.request and not record.attempts:
        writer.put(META, REQUEST + record.request, {"job_id": record.job_id})
    writer.put_record(TABLE, record.job_id, record)


def change_job(
    writer: Writer, job_id: str, change: Callable[[JsonObject | None], JsonObject]
) -> None:
    """Write what `change` makes of a job's row."""
    writer.update(TABLE, job_id, change)
