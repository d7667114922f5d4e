"""Work detached from the request that started it.

A job is written to the store before it begins, its result before anyone is told of it. One
worker does one job after the other, because what is timed must be alone on its device.
What a killed process left unfinished is queued again when the next one starts: results that
were on disk are not paid for twice, and a search goes on where its last step ended. A tool
that must not simply run again (`Tool.rerun`), or that has already taken two processes with
it, is reported as `interrupted`. A job whose end the store could not take (the disk is full) has
failed, in this process's memory (`Workbench.unwritten`) until it can be written.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ..runners import progress
from ..runners.errors import KernelwrightError, StoreError
from ..search.session.workbench import Workbench
from ..store.job_rows import (
    change_job,
    is_cancel_requested,
    job_in,
    job_records,
    next_job_id,
    put_job,
)
from ..store.jobs import JobRecord, Owner
from ..store.records import now
from ..store.store import JsonObject, Store
from ..tools.base import Tool, WorkArguments
from ..tools.parts.jobs import record_of

ATTEMPTS = 2
START_TIME = 19  # field of /proc/<pid>/stat, counted after the command in brackets
NOBODY = Owner(pid=0, started=0)

logger = logging.getLogger(__name__)


class Jobs:
    """The queue of this process and its worker."""

    def __init__(self, bench: Workbench, tools: tuple[Tool[Any, Any], ...]) -> None:
        self._bench = bench
        self._tools = {tool.name: tool for tool in tools if tool.work}
        self._owner = _this_process()
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._live: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stopping = False
        for job_id in self._adopt():
            self._waiting.put(job_id)
        self._worker = threading.Thread(target=self._serve, name="jobs", daemon=True)
        self._worker.start()

    def submit(self, tool: Tool[Any, Any], arguments: WorkArguments) -> str:
        """The job_id of new work, or of the same work where it is queued or running already:
        a client that lost its connection and asks again meets its job."""
        wanted = _dumped(arguments)
        key = f"{tool.name}:{arguments.model_dump_json(exclude={'wait_s'})}"
        with self._lock:
            live = self._live.get(key)
            if live is not None and not record_of(self._bench, live).ended:
                return live
            with self._bench.store.transaction() as writer:
                job_id = next_job_id(writer)
                record = JobRecord(
                    job_id=job_id,
                    tool=tool.name,
                    arguments=wanted,
                    owner=self._owner,
                    submitted_at=now(),
                )
                put_job(writer, record)
            self._live[key] = job_id
        self._waiting.put(job_id)
        return job_id

    def stop(self) -> None:
        """Take no more work; what is unfinished is left for the next process.

        The job that runs now ends with the workbench's processes and is not recorded.
        """
        self._stopping = True
        self._waiting.put(None)
        # On a full disk nothing is lost: who owns these jobs will be dead when the next one looks.
        with suppress(StoreError):
            self._write_late()
            for record in _unfinished(self._bench.store):
                if record.owner == self._owner:
                    _update(self._bench.store, record.job_id, {"owner": NOBODY.model_dump()})

    def _adopt(self) -> list[str]:
        """Queue again, or give up, what dead processes left unfinished."""
        ours = list[str]()
        for record in _unfinished(self._bench.store):
            if _is_alive(record.owner):
                continue
            tool = self._tools.get(record.tool)
            begun = record.state == "running"
            again = tool is not None and record.attempts < ATTEMPTS and (tool.rerun or not begun)
            if again:
                change: JsonObject = {"state": "queued", "owner": self._owner.model_dump()}
                ours.append(record.job_id)
            else:
                why = "its server ended while it ran"
                change = {"state": "interrupted", "error": why, "finished_at": now()}
            _update(self._bench.store, record.job_id, change)
        return ours

    def _serve(self) -> None:
        while (job_id := self._waiting.get()) is not None and not self._stopping:
            try:
                self._perform(job_id)
            except Exception as error:
                if not self._stopping:
                    self._fail(job_id, error)
            with self._lock:
                self._live = {key: live for key, live in self._live.items() if live != job_id}

    def _fail(self, job_id: str, error: Exception) -> None:
        """End a job in memory alone; nobody may wait for one that nobody does."""
        if isinstance(error, StoreError):
            logger.error("job %s could not be recorded: %s", job_id, error.message)
        else:
            logger.exception("job %s could not be recorded", job_id)
        with suppress(KernelwrightError):
            change = {"state": "failed", "finished_at": now(), "progress": ""}
            change["error"] = f"what came of it could not be written: {error}"
            known = record_of(self._bench, job_id)
            self._bench.unwritten[job_id] = known.model_copy(update=change)

    def _write_late(self) -> None:
        """Write down the ends that could not be written before. Raises StoreError."""
        for job_id, record in tuple(self._bench.unwritten.items()):
            _update(self._bench.store, job_id, record.model_dump(mode="json"))
            self._bench.unwritten.pop(job_id, None)

    def _perform(self, job_id: str) -> None:
        self._write_late()
        record = _claim(self._bench.store, job_id)
        if record is not None:
            change = self._outcome(record)
            if self._stopping:
                return
            _update(self._bench.store, job_id, change | {"finished_at": now(), "progress": ""})

    def _outcome(self, record: JobRecord) -> JsonObject:
        """Run the tool; what changes in the job's record."""
        tool = self._tools[record.tool]
        listener = _StoreListener(self._bench.store, record.job_id)
        try:
            with progress.listening(listener):
                result = tool.run(self._bench, tool.arguments.model_validate(record.arguments))
        except KernelwrightError as error:
            return {"state": "failed", "error": str(error)}
        except Exception as error:
            if not self._stopping:
                logger.exception("job %s (%s) broke", record.job_id, record.tool)
            what = f"{type(error).__name__}: {error}"
            return {"state": "failed", "error": f"an error in Kernelwright itself: {what}"}
        return {"state": "done", "result": result.model_dump(mode="json", exclude_none=True)}


class _StoreListener:
    """Writes what a tool reports into its job's record, and reads there whether to end."""

    def __init__(self, store: Store, job_id: str) -> None:
        self._store, self._job_id = store, job_id
        self._found = ""

    def report(self, message: str) -> None:
        """Beside what was found last, which whoever looks now and then would miss."""
        known = f"{self._found}; now " if self._found else ""
        _update(self._store, self._job_id, {"progress": known + message})

    def found(self, message: str) -> None:
        self._found = message
        _update(self._store, self._job_id, {"progress": message})

    def cancelled(self) -> bool:
        return is_cancel_requested(self._store, self._job_id)

    def checkpoint(self, arguments: BaseModel) -> None:
        _update(self._store, self._job_id, {"arguments": _dumped(arguments)})


def _dumped(arguments: BaseModel) -> JsonObject:
    return arguments.model_dump(mode="json", exclude={"wait_s"}, exclude_none=True)


def _unfinished(store: Store) -> list[JobRecord]:
    return [record for record in job_records(store).values() if not record.ended]


def _claim(store: Store, job_id: str) -> JobRecord | None:
    """The job, now running; None when it was cancelled meanwhile."""
    with store.transaction() as writer:
        record = job_in(writer, job_id)
        if record.state != "queued":
            return None
        begun = record.model_copy(update={"state": "running", "attempts": record.attempts + 1})
        put_job(writer, begun)
        return begun


def _update(store: Store, job_id: str, change: JsonObject) -> None:
    with store.transaction() as writer:
        change_job(writer, job_id, lambda value: {**(value or {}), **change})


def _this_process() -> Owner:
    return Owner(pid=os.getpid(), started=_started(os.getpid()) or 0)


def _is_alive(owner: Owner) -> bool:
    return owner != NOBODY and _started(owner.pid) == owner.started


def _started(pid: int) -> int | None:
    """When a process began, None when there is none (a zombie counts as none)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[START_TIME])
