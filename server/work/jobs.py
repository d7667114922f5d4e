"""Work detached from the request that started it.

A job is written to the store before it begins, its result before anyone is told of it. One
worker does one job after the other, because what is timed must be alone on its device.
What a process left unfinished is done by the next one that starts, or by whichever one somebody
asks for it: results that were on disk are not paid for twice, and a search goes on where its last
step ended. A tool that must not simply run again (`Tool.rerun`), or that was running when two
processes were killed, is reported as `interrupted`; a process that ends by itself costs no attempt.
A job that is cancelled ends as `cancelled`, its builds and kernels killed. A job whose end the
store could not take (the disk is full) has failed, in this process's memory
(`Workbench.unwritten`) until it can be written.
"""

from __future__ import annotations

import logging
import queue
import threading
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from ...runners import progress
from ...runners.errors import KernelwrightError, StoreError
from ...search.session.workbench import Workbench
from ...store.job_rows import (
    change_job,
    job_in,
    job_of_request,
    job_records,
    next_job_id,
    put_job,
)
from ...store.jobs import JobRecord, Owner
from ...store.records import now
from ...store.store import JsonObject, Store
from ...tools.base import Tool, WorkArguments
from ...tools.parts.jobs import NOBODY, is_alive, record_of, this_process
from .cancelling import Cancelling

ATTEMPTS = 2

logger = logging.getLogger(__name__)


class Jobs:
    """The queue of this process and its worker."""

    def __init__(self, bench: Workbench, tools: tuple[Tool[Any, Any], ...]) -> None:
        self._bench = bench
        self._tools = {tool.name: tool for tool in tools if tool.work}
        self._owner = this_process()
        self._waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._live: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stopping = False
        self.take_over()
        bench.take_over = self.take_over
        self._worker = threading.Thread(target=self._serve, name="jobs", daemon=True)
        self._worker.start()

    def submit(self, tool: Tool[Any, Any], arguments: WorkArguments, request: str = "") -> str:
        """The job_id of new work, or of the same work where it is queued or running already, or
        where this request brought it before: who lost a connection and asks again meets its job."""
        wanted = _dumped(arguments)
        key = f"{tool.name}:{arguments.model_dump_json(exclude={'wait_s'})}"
        with self._lock:
            live = self._live.get(key)
            if live is not None and not record_of(self._bench, live).ended:
                return live
            if request and (known := job_of_request(self._bench.store, request)) is not None:
                return known
            with self._bench.store.transaction() as writer:
                job_id = next_job_id(writer)
                record = JobRecord(
                    job_id=job_id,
                    tool=tool.name,
                    arguments=wanted,
                    owner=self._owner,
                    submitted_at=now(),
                    request=request,
                )
                put_job(writer, record)
            self._live[key] = job_id
        self._waiting.put(job_id)
        return job_id

    def unfinished(self) -> int:
        """Jobs of this process that are queued or running."""
        with suppress(StoreError):
            return sum(record.owner == self._owner for record in _unfinished(self._bench.store))
        return 0

    def stop(self) -> None:
        """Take no more work; what is unfinished is left for the next process.

        The job that runs now ends with the workbench's processes and is not recorded.
        """
        self._stopping = True
        self._bench.take_over = None
        self._waiting.put(None)
        # On a full disk nothing is lost: who owns these jobs will be dead when the next one looks.
        with suppress(StoreError):
            self._write_late()
            for record in _unfinished(self._bench.store):
                if record.owner == self._owner:
                    _update(self._bench.store, record.job_id, self._left_behind(record))

    def _left_behind(self, record: JobRecord) -> JsonObject:
        """What changes in a job that the next process is to do. An attempt that we end ourselves is
        none, where the work may simply run again."""
        change: JsonObject = {"owner": NOBODY.model_dump(), "progress": ""}
        tool = self._tools.get(record.tool)
        if record.state == "running" and tool is not None and tool.rerun:
            change |= {"state": "queued", "attempts": record.attempts - 1}
        return change

    def take_over(self) -> None:
        """Queue again, or give up, what processes that are gone left unfinished."""
        for record in _unfinished(self._bench.store):
            if not is_alive(record.owner) and self._is_ours(record):
                self._waiting.put(record.job_id)

    def _is_ours(self, record: JobRecord) -> bool:
        """Whether this process has the orphaned job from now on, and not given it up, nor met
        another one that was quicker."""
        with self._bench.store.transaction() as writer:
            known = job_in(writer, record.job_id)
            if known.ended or known.owner != record.owner:
                return False
            again = self._may_run(known)
            if again:
                update: JsonObject = {"state": "queued", "owner": self._owner}
            else:
                update = {"state": "interrupted", "result": known.so_far, "finished_at": now()}
                update["error"] = "its server ended while it ran"
            put_job(writer, known.model_copy(update=update))
            return again

    def _may_run(self, record: JobRecord) -> bool:
        tool = self._tools.get(record.tool)
        if tool is None or record.attempts >= ATTEMPTS:
            return False
        return tool.rerun or record.state == "queued"

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
        record = _claim(self._bench.store, job_id, self._owner)
        if record is not None:
            change = self._outcome(record)
            if self._stopping:
                return
            _update(self._bench.store, job_id, change | {"finished_at": now(), "progress": ""})

    def _outcome(self, record: JobRecord) -> JsonObject:
        """Run the tool; what changes in the job's record."""
        cancelling = Cancelling()
        listener = _StoreListener(self._bench.store, record, cancelling)
        interrupt = self._bench.evaluator.interrupt
        with cancelling.watching(self._bench.store, record.job_id, interrupt):
            change = self._tried(record, listener)
        if cancelling.asked:
            # Work that lost its processes fails with whatever it met: that is not why it ended.
            return {"state": "cancelled", "result": change.get("result") or listener.so_far}
        return change

    def _tried(self, record: JobRecord, listener: _StoreListener) -> JsonObject:
        tool = self._tools[record.tool]
        try:
            with progress.listening(listener):
                result = tool.run(self._bench, tool.arguments.model_validate(record.arguments))
        except progress.Cancelled:
            return {}
        except KernelwrightError as error:
            return {"state": "failed", "error": str(error), "result": listener.so_far}
        except Exception as error:
            if not self._stopping:
                logger.exception("job %s (%s) broke", record.job_id, record.tool)
            what = f"{type(error).__name__}: {error}"
            return {"state": "failed", "error": f"an error in Kernelwright itself: {what}"}
        return {"state": "done", "result": _kept(result)}


class _StoreListener(progress.Listener):
    """Writes what a tool reports into its job's record, and says whether it is to end."""

    def __init__(self, store: Store, record: JobRecord, cancelling: Cancelling) -> None:
        self._store, self._job_id, self._cancelling = store, record.job_id, cancelling
        self.so_far = record.so_far
        self._found = ""

    def report(self, message: str) -> None:
        """Beside what was found last, which whoever looks now and then would miss."""
        known = f"{self._found}; now " if self._found else ""
        _update(self._store, self._job_id, {"progress": known + message})

    def found(self, message: str) -> None:
        self._found = message
        _update(self._store, self._job_id, {"progress": message})

    def cancelled(self) -> bool:
        return self._cancelling.asked

    def checkpoint(self, arguments: BaseModel, so_far: BaseModel | None) -> None:
        if so_far is not None:
            self.so_far = _kept(so_far)
        change = {"arguments": _dumped(arguments), "so_far": self.so_far}
        _update(self._store, self._job_id, change)

    def earlier(self) -> JsonObject | None:
        return self.so_far


def _kept(result: BaseModel) -> JsonObject:
    return result.model_dump(mode="json", exclude_none=True)


def _dumped(arguments: BaseModel) -> JsonObject:
    return arguments.model_dump(mode="json", exclude={"wait_s"}, exclude_none=True)


def _unfinished(store: Store) -> list[JobRecord]:
    return [record for record in job_records(store).values() if not record.ended]


def _claim(store: Store, job_id: str, owner: Owner) -> JobRecord | None:
    """The job, now running; None when it was cancelled meanwhile, or left to another process."""
    with store.transaction() as writer:
        record = job_in(writer, job_id)
        if record.state != "queued" or record.owner != owner:
            return None
        begun = record.model_copy(update={"state": "running", "attempts": record.attempts + 1})
        put_job(writer, begun)
        return begun


def _update(store: Store, job_id: str, change: JsonObject) -> None:
    with store.transaction() as writer:
        change_job(writer, job_id, lambda value: {**(value or {}), **change})
