"""How a job stands, whose it is, and what is told of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runners.errors import HandleUnknown, SearchBusy
from ...store.job_rows import job_record, newest_jobs, unfinished_jobs
from ...store.jobs import Amount, AnyResult, JobRecord, Owner, Reply
from ...store.searches import kernel_of_search
from ...store.variants import is_variant, variant_record
from .calls import call

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench
    from ...store.store import Store

START_TIME = 19  # field of /proc/<pid>/stat, counted after the command in brackets
NOBODY = Owner(pid=0, started=0)
LONGEST_CALL = 600
"""characters of a call that is told whole"""


def record_of(bench: Workbench, job_id: str) -> JobRecord:
    """How a job stands; also one whose end could not be written. One whose owner is gone is taken
    over first, where this process does jobs. Raises HandleUnknown."""
    unwritten = bench.unwritten.get(job_id)
    if unwritten is not None:
        return unwritten
    record = job_record(bench.store, job_id)
    if record.ended or is_alive(record.owner) or bench.take_over is None:
        return record
    bench.take_over()
    return job_record(bench.store, job_id)


def records(bench: Workbench, limit: int, offset: int = 0) -> list[JobRecord]:
    """So many jobs as `record_of` gives them, the newest first, without the first `offset`."""
    unfinished = unfinished_jobs(bench.store)
    if bench.take_over is not None and not all(is_alive(r.owner) for r in unfinished):
        bench.take_over()
    newest = newest_jobs(bench.store, limit, offset)
    return [bench.unwritten.get(record.job_id, record) for record in newest]


@contextmanager
def naming_the_job(bench: Workbench, search_id: str | None) -> Generator[None]:
    """Where the search is under way in the job of another process, say which to wait for. Raises
    SearchBusy."""
    try:
        yield
    except SearchBusy as busy:
        ours = this_process()
        for record in unfinished_jobs(bench.store):
            working = record.state == "running" and record.owner != ours and is_alive(record.owner)
            if working and _search_of(record) == search_id:
                wait = call("job", job_id=record.job_id, wait_s=45)
                raise SearchBusy(busy.message, valid=busy.valid, next_step=wait) from busy
        raise


def this_process() -> Owner:
    """Who this process is, as the owner of a job."""
    return Owner(pid=os.getpid(), started=_started(os.getpid()) or 0)


def is_alive(owner: Owner) -> bool:
    """Whether the process that has a job is there."""
    return owner != NOBODY and _started(owner.pid) == owner.started


def reply_of(bench: Workbench, record: JobRecord, ahead: Mapping[str, int] | None = None) -> Reply:
    """What is told of a job. `ahead`: that of `waiting_before`, for who tells of many."""
    spent, left = _amounts(record)
    if ahead is None and record.state == "queued":
        ahead = waiting_before(unfinished_jobs(bench.store))
    return Reply(
        status=record.state,
        job_id=record.job_id,
        tool=record.tool,
        kernel_id=_kernel_of(bench.store, record),
        search_id=_search_of(record),
        ahead=(ahead or {}).get(record.job_id),
        spent=spent,
        left=left,
        seconds=_seconds(record),
        result=None if record.result is None else AnyResult.model_validate(record.result),
        progress=record.progress or None if not record.ended else None,
        kept=_kept(record),
        error=record.error or None,
        next=_next(record),
    )


def _kernel_of(store: Store, record: JobRecord) -> str | None:
    for known in (record.arguments, record.result or {}, record.so_far or {}):
        if isinstance(kernel_id := known.get("kernel_id"), str):
            return kernel_id
        variant_id = known.get("variant_id")
        if isinstance(variant_id, str) and is_variant(store, variant_id):
            return variant_record(store, variant_id).variant.kernel_id
    with suppress(HandleUnknown):  # of a search that never was
        return kernel_of_search(store, _search_of(record) or "")
    return None


def _search_of(record: JobRecord) -> str | None:
    known = record.result or record.so_far or record.arguments
    return known.get("search_id") or record.arguments.get("search_id")


def waiting_before(records: Iterable[JobRecord]) -> dict[str, int]:
    """For each queued job how many unfinished ones of the same process are done before it."""
    before, found = Counter[Owner](), dict[str, int]()
    unfinished = [record for record in records if not record.ended]
    for record in sorted(unfinished, key=lambda r: (r.state == "queued", place_of(r))):
        if record.state == "queued":
            found[record.job_id] = before[record.owner]
        before[record.owner] += 1
    return found


def place_of(record: JobRecord) -> tuple[int, int]:
    """What queued jobs are ordered by."""
    return record.turn, _number(record)


def _amounts(record: JobRecord) -> tuple[Amount | None, Amount | None]:
    """What a search's job spent and may still spend, as of its last checkpoint."""
    known: dict[str, Any] = record.result or record.so_far or {}
    standing: dict[str, Any] | None = known.get("status")
    if standing is None or "budget" not in standing:
        return None, None
    steps = len(known["steps"]) + known.get("left_out", 0)
    builds, budget = int(standing["builds"]), int(standing["budget"])
    spent = Amount(steps=steps, builds=builds)
    asked = 0 if record.state == "done" else int(record.arguments.get("steps") or 0)
    return spent, Amount(steps=asked, builds=max(0, budget - builds))


def _seconds(record: JobRecord) -> float:
    end = datetime.fromisoformat(record.finished_at) if record.finished_at else datetime.now(UTC)
    return round((end - datetime.fromisoformat(record.submitted_at)).total_seconds(), 1)


def _kept(record: JobRecord) -> str | None:
    """What stays of a job that did not come to its end."""
    if record.state not in ("cancelled", "interrupted"):
        return None
    if record.result is None:
        return "nothing of it; what was on disk before is as it was"
    steps, _ = _amounts(record)
    if steps is None:
        return "its result, which is whole"
    return f"the {steps.steps} steps of its result; what was under way when it ended is not"


def _next(record: JobRecord) -> tuple[str, ...]:
    match record.state:
        case "queued" | "running":
            wait = call("job", job_id=record.job_id, wait_s=45)
            return (wait, call("cancel_job", job_id=record.job_id))
        case "interrupted" | "cancelled":
            return (_again(record),)
        case _:
            return ()


def _again(record: JobRecord) -> str:
    """The call that goes on where the job ended."""
    whole = call(record.tool, **record.arguments)
    if len(whole) <= LONGEST_CALL:
        return whole
    return call("inspect", what="job", id=record.job_id)


def _number(record: JobRecord) -> int:
    return int(record.job_id[1:])


def _started(pid: int) -> int | None:
    """When a process began, None when there is none (a zombie counts as none)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[START_TIME])
