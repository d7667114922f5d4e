"""A desk whose work is done by the broker: started where none is there, asked again where it ends
in the middle of a call."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...runners import progress
from ...runners.errors import AccessError, KernelwrightError
from ..observing.spans import carried
from ..work.asker import asker
from ..work.performs import Performs
from .messages import Json, as_error, identity, received, send
from .place import Place

if TYPE_CHECKING:
    from ...runners.model import Record
    from ...tools.base import Arguments, Tool
    from ..work.desk import Desk

START_S: Final = 60.0
"""for a broker to listen; it takes under 1 s on a quiet machine"""
PAUSE_S: Final = 0.02
AGAIN_S: Final = 0.1
"""to the next start, where the last one met a broker that is about to end"""
ATTEMPTS: Final = 4
"""of one call, each with the next broker"""
LONGEST_LOG: Final = 4 << 20
logger = logging.getLogger(__name__)


class _Ended(Exception):
    """The broker ended before it answered."""


class RemoteDesk(Performs):
    """Asks the broker of a state folder. One that serves other folders or devices, or none that
    can be started, leaves the work to this process."""

    def __init__(self, outdir: Path, roots: Sequence[Path], gpus: Sequence[str]) -> None:
        self._outdir, self._roots, self._gpus = outdir, tuple(roots), tuple(gpus)
        self._place, self._name = Place(outdir), uuid.uuid4().hex
        self._is = identity(outdir, roots, gpus)
        self._lock = threading.Lock()
        self._own: Desk | None = None
        self._closed = False

    def perform(self, tool: Tool[Any, Any], arguments: Arguments) -> Record:
        """See `Performs.perform`."""
        from ...tools.base import WorkArguments
        from ...tools.job import TOOL as WAIT
        from ...tools.job import JobArguments

        ends = time.monotonic() + getattr(arguments, "wait_s", 0.0)
        asked, known, request = tool, arguments, uuid.uuid4().hex
        for _ in range(ATTEMPTS):
            own = self._own
            if own is not None:
                return own.perform(asked, known)
            try:
                told = self._asked(asked, known, request)
            except _Ended as ended:
                if ended.args and isinstance(arguments, WorkArguments):  # its job: wait for it
                    left = max(0.0, ends - time.monotonic())
                    asked, known = WAIT, JobArguments(job_id=ended.args[0], wait_s=left)
                continue
            if "other" in told:
                self._work_here(told["other"])
                continue
            return _result(tool, told)
        raise KernelwrightError(
            f"the broker of {self._outdir} ended {ATTEMPTS} times before it answered",
            next_step=f"read {self._place.log}; what was told before is kept",
        )

    def close(self) -> None:
        """What the broker does goes on; what was done here ends."""
        with self._lock:
            self._closed = True
            if self._own is not None:
                self._own.close()

    def _asked(self, tool: Tool[Any, Any], arguments: Arguments, request: str) -> Json:
        """The last message of an answer. Raises _Ended with the job's id, where it was told."""
        job_id = ""
        connection = self._place.connected() or self._started()
        if connection is None:
            return {"other": {}}
        try:
            with connection, connection.makefile("rb") as stream:
                message: Json = {"identity": self._is, "verb": tool.name, "request": request}
                message["client"] = f"{self._name}/{asker()}"
                if spans := carried():
                    message["spans"] = spans
                message["arguments"] = arguments.model_dump(mode="json", by_alias=True)
                send(connection, message)
                for told in received(stream):
                    if "told" in told:
                        progress.report(told["told"])
                    elif "job" in told:
                        job_id = told["job"]
                    else:
                        return told
        except OSError:
            pass
        raise _Ended(*([job_id] if job_id else []))

    def _started(self) -> Any:
        """A connection to a broker that was started for it; None: it cannot be had here."""
        with self._lock:
            if self._closed:
                raise KernelwrightError("the server is ending", next_step="start it again")
            there = self._place.connected()
            if there is not None:
                return there
            try:
                process = self._spawn()
            except OSError as error:
                logger.warning("no broker can be started (%s): this process does the work", error)
                return None
            deadline = time.monotonic() + START_S
            while time.monotonic() < deadline:
                there = self._place.connected()
                if there is not None:
                    return there
                if process.poll() == 0:  # it met another one, which is about to end
                    time.sleep(AGAIN_S)
                    process = self._spawn()
                elif process.poll() is not None:
                    break
                time.sleep(PAUSE_S)
        logger.warning("the broker does not start, see %s: this process works", self._place.log)
        return None

    def _spawn(self) -> subprocess.Popen[bytes]:
        """Start a broker that belongs to nobody: it hears no signal of ours, and ends by itself."""
        self._outdir.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "kernelwright.server", "broker"]
        command += ["--outdir", self._is["outdir"]]
        for root in self._is["roots"]:
            command += ["--root", root]
        if self._gpus:
            command += ["--gpus", ",".join(self._gpus)]
        with suppress(FileNotFoundError):
            if self._place.log.stat().st_size > LONGEST_LOG:
                self._place.log.replace(self._place.log.with_suffix(".log.1"))
        with self._place.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )
        # Reaped whenever it ends; nobody here waits for it.
        threading.Thread(target=process.wait, name="broker", daemon=True).start()
        return process

    def _work_here(self, other: Json) -> None:
        """From now on this process does the work, beside a broker that is another's."""
        from ..work.desk import Desk

        with self._lock:
            if self._own is None and not self._closed:
                if other:
                    named = [k for k in self._is if self._is[k] != other.get(k)]
                    logger.warning(
                        "the broker of %s has other %s: this process works beside it",
                        self._outdir,
                        ", ".join(named),
                    )
                self._own = Desk(self._outdir, self._roots, self._gpus)


def _result(tool: Tool[Any, Any], told: Json) -> Record:
    from ...store.jobs import AnyResult
    from ..resources.verbs import VERBS

    if "error" in told:
        raise as_error(told["error"])
    if "broke" in told:
        raise RuntimeError(told["broke"])
    model = tool.result if tool in VERBS else AnyResult
    return model.model_validate(told["result"])


def asked_of_broker(outdir: Path, what: str) -> Json | None:
    """What the broker answers to `status` or `stop`; None: none is there. Raises AccessError."""
    try:
        connection = Place(outdir).connected()
    except OSError as error:
        raise AccessError(f"the broker's socket cannot be reached: {error.strerror}") from error
    if connection is None:
        return None
    with connection, connection.makefile("rb") as stream:
        send(connection, {"ask": what})
        return next(received(stream), None)
