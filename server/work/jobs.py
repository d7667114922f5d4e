"""Work detached from the request that started it.

A job is written to the store before it begins, its result before anyone is told of it. One
worker does one job after the other, because what is timed must be alone on its device.
What a process left unfinished is done by the next one that starts, or by whichever one somebody
asks for it: results that were on disk are not paid for twice, and a search goes on where its last
step ended. A tool that must not simply run again (`Tool.rerun`), or that was running when two
processes were killed, is reported as `interrupted`; a process that ends by itself costs no attempt.
Clients take turns (`turns.py`), and a job that others wait for gives way at its next checkpoint.
A job that is cancelled ends as `cancelled`, its builds and kernels killed. A job whose end the
store could not take (the disk is full) has failed, in this process's memory
(`Workbench.unwritten`) until it can be written.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from contextlib import suppress
from typing import Any

from ...runners import progress
from ...runners.errors import KernelwrightError, StoreError
from ...search.session.workbench import Workbench
from ...store.job_rows import (
    job_in,
    job_of_request,
    next_job_id,
    put_job,
    unfinished_jobs,
)
from ...store.jobs import JobRecord, Owner
from ...store.records import now
from ...store.store import JsonObject, Store
from ...tools.base import Tool, WorkArguments
from ...tools.parts.jobs import NOBODY, is_alive, place_of, record_of, this_process
from .cancelling import Cancelling
from .recording import Recorder, dumped, kept, update
from .turns import Turns

ATTEMPTS = 2
TURN_S = 20.0
"""for which a job may go on while those of other clients wait"""
STOP = (-1, -1), ""
"""in the queue, before every job"""

logger = logging.getLogger(__name__)


class Jobs:
    """The queue of this process and its worker."""

    def __init__(
        self, bench: Workbench, tools: tuple[Tool[Any, Any], ...], turn_s: float = TURN_S
    ) -> None:
        self._bench, self._turn_s = bench, turn_s
        self._tools = {tool.name: tool for tool in tools if tool.work}
        self._owner = this_process()
        self._waiting: queue.PriorityQueue[tuple[tuple[int, int], str]] = queue.PriorityQueue()
        self._turns = Turns()
        self._live: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stopping = False
        self.take_over()
        bench.take_over = self.take_over
        self._worker = threading.Thread(target=self._serve, name="jobs", daemon=True)
        self._worker.start()

    def submit(
        self, tool: Tool[Any, Any], arguments: WorkArguments, request: str = "", client: str = ""
    ) -> str:
        """The job_id of new work, or of the same work where it is queued or running already, or
        where this request brought it before: who lost a connection and asks again meets its job."""
        wanted = dumped(arguments)
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
                    client=client,
                    turn=self._turns.drawn(client),
                    request=request,
                )
                put_job(writer, record)
            self._live[key] = job_id
        self._waiting.put((place_of(record), job_id))
        return job_id

    def unfinished(self) -> int:
        """Jobs of this process that are queued or running."""
        with suppress(StoreError):
            return sum(record.owner == self._owner for record in unfinished_jobs(self._bench.store))
        return 0

    def stop(self) -> None:
        """Take no more work; what is unfinished is left for the next process.

        The job that runs now ends with the workbench's processes and is not recorded.
        """
        self._stopping = True
        self._bench.take_over = None
        self._waiting.put(STOP)
        # On a full disk nothing is lost: who owns these jobs will be dead when the next one looks.
        with suppress(StoreError):
            self._write_late()
            for record in unfinished_jobs(self._bench.store):
                if record.owner == self._owner:
                    self._leave(record.job_id)

    def _leave(self, job_id: str) -> None:
        """Have the next process do a job, unless its end was written down, and perhaps told, since
        it was seen. An attempt that we end ourselves is none, where the work may simply run
        again."""
        with self._bench.store.transaction() as writer:
            known = job_in(writer, job_id)
            if known.ended:
                return
            change: JsonObject = {"owner": NOBODY, "progress": ""}
            tool = self._tools.get(known.tool)
            if known.state == "running" and tool is not None and tool.rerun:
                change |= {"state": "queued", "attempts": known.attempts - 1}
            put_job(writer, known.model_copy(update=change))

    def take_over(self) -> None:
        """Queue again, or give up, what processes that are gone left unfinished."""
        for record in sorted(unfinished_jobs(self._bench.store), key=place_of):
            if not is_alive(record.owner) and (taken := self._taken(record)) is not None:
                self._waiting.put((place_of(taken), taken.job_id))

    def _taken(self, record: JobRecord) -> JobRecord | None:
        """The orphaned job, which this process has from now on; None: it was given up, or another
        process was quicker."""
        with self._lock:  # before the transaction, as `submit` does
            turn = self._turns.drawn(record.client)
        with self._bench.store.transaction() as writer:
            known = job_in(writer, record.job_id)
            if known.ended or known.owner != record.owner:
                return None
            again = self._may_run(known)
            if again:
                change: JsonObject = {"state": "queued", "owner": self._owner, "turn": turn}
            else:
                change = {"state": "interrupted", "result": known.so_far, "finished_at": now()}
                change["error"] = "its server ended while it ran"
            taken = known.model_copy(update=change)
            put_job(writer, taken)
            return taken if again else None

    def _may_run(self, record: JobRecord) -> bool:
        tool = self._tools.get(record.tool)
        if tool is None or record.attempts >= ATTEMPTS:
            return False
        return tool.rerun or record.state == "queued"

    def _serve(self) -> None:
        while (job_id := self._waiting.get()[1]) and not self._stopping:
            try:
                if self._perform(job_id):
                    continue
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
            update(self._bench.store, job_id, record.model_dump(mode="json"))
            self._bench.unwritten.pop(job_id, None)

    def _perform(self, job_id: str) -> bool:
        """Do a job; whether it gave way, and waits again."""
        self._write_late()
        record = _claim(self._bench.store, job_id, self._owner)
        if record is None:
            return False
        with self._lock:
            self._turns.served(record.turn)
        change = self._outcome(record)
        if self._stopping:
            return False
        if change["state"] == "queued":
            self._wait_again(record)
            return True
        update(self._bench.store, job_id, change | {"finished_at": now(), "progress": ""})
        return False

    def _wait_again(self, record: JobRecord) -> None:
        """Queue a job that gave way, by its client's next turn; that was no attempt of its own."""
        with self._lock:
            turn = self._turns.drawn(record.client)
        change: JsonObject = {"state": "queued", "turn": turn, "attempts": record.attempts - 1}
        update(self._bench.store, record.job_id, change | {"progress": "others take their turn"})
        self._waiting.put(((turn, place_of(record)[1]), record.job_id))

    def _others_wait(self, record: JobRecord) -> bool:
        """Whether the next queued job is another client's."""
        with self._waiting.mutex:
            first = self._waiting.queue[0][1] if self._waiting.queue else ""
        with suppress(KernelwrightError):
            return bool(first) and record_of(self._bench, first).client != record.client
        return False

    def _outcome(self, record: JobRecord) -> JsonObject:
        """Run the tool; what changes in the job's record."""
        cancelling, until = Cancelling(), time.monotonic() + self._turn_s

        def turn_is_over() -> bool:
            return time.monotonic() >= until and self._others_wait(record)

        listener = Recorder(self._bench.store, record, cancelling, turn_is_over)
        interrupt = self._bench.evaluator.interrupt
        with cancelling.watching(self._bench.store, record.job_id, interrupt):
            change = self._tried(record, listener)
        if cancelling.asked:
            # Work that lost its processes fails with whatever it met: that is not why it ended.
            return {"state": "cancelled", "result": change.get("result") or listener.so_far}
        return change

    def _tried(self, record: JobRecord, listener: Recorder) -> JsonObject:
        tool = self._tools[record.tool]
        try:
            with progress.listening(listener):
                result = tool.run(self._bench, tool.arguments.model_validate(record.arguments))
        except progress.Cancelled:
            return {}
        except progress.GaveWay:
            return {"state": "queued"}
        except KernelwrightError as error:
            return {"state": "failed", "error": str(error), "result": listener.so_far}
        except Exception as error:
            if not self._stopping:
                logger.exception("job %s (%s) broke", record.job_id, record.tool)
            what = f"{type(error).__name__}: {error}"
            return {"state": "failed", "error": f"an error in Kernelwright itself: {what}"}
        return {"state": "done", "result": kept(result)}


def _claim(store: Store, job_id: str, owner: Owner) -> JobRecord | None:
    """The job, now running; None when it was cancelled meanwhile, or left to another process."""
    with store.transaction() as writer:
        record = job_in(writer, job_id)
        if record.state != "queued" or record.owner != owner:
            return None
        begun = record.model_copy(update={"state": "running", "attempts": record.attempts + 1})
        put_job(writer, begun)
        return begun
