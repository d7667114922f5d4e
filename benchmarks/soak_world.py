"""The processes of a soak: the broker, a server over HTTP, what they start; killed, watched, and
looked for afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil
from client_project import COMMAND, said_by

from kernelwright.server.broker.place import Place
from kernelwright.server.broker.remote_desk import asked_of_broker
from kernelwright.store.job_rows import job_records
from kernelwright.store.store import STATE_FILE, Store
from kernelwright.tools.parts.jobs import is_alive

MARK: Final = "KERNELWRIGHT_SOAK"
START_S, END_S, GRACE_S = 300.0, 20.0, 10.0
ORPHAN_S: Final = 5.0
"""for which a job may have a dead owner though a broker answers, which takes it over before that"""


@dataclass
class World:
    """One project under load."""

    folder: Path
    mark: str
    began: float = field(default_factory=time.monotonic)
    http: subprocess.Popen[bytes] | None = None
    port: int = 0
    token: str = ""
    http_turns: int = 0
    """how often the server over HTTP went and came again; odd: it is not there now"""
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    memory: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seen: dict[int, float] = field(default_factory=dict[int, float])
    """every process of ours that a look found, with when it started"""
    ownerless: dict[str, float] = field(default_factory=dict[str, float])
    """jobs whose owner is dead, since when"""
    answered: int | None = None
    """the broker that answered the last look"""

    @property
    def outdir(self) -> Path:
        """Its state."""
        return self.folder / "state"

    @property
    def serve(self) -> list[str]:
        """What starts a server."""
        return ["serve", "--outdir", str(self.outdir), "--root", str(self.folder)]

    def now(self) -> float:
        """Seconds since it began."""
        return round(time.monotonic() - self.began, 1)

    def start_http(self) -> None:
        """Start the server over HTTP; after a kill at the same address."""
        if not self.token:
            made = said_by("token", "make", "soak", "--outdir", str(self.outdir))
            self.token = made.split()[-1]
        log = (self.folder / "http.log").open("ab")
        command = [COMMAND, *self.serve, "--http", str(self.port)]
        environ = os.environ | {MARK: self.mark}
        before = log.tell()
        self.http = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=environ)
        log.close()
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            said = (self.folder / "http.log").read_bytes()[before:].decode()
            if "token as" in said:
                self.port = int(said.partition("127.0.0.1:")[2].partition("/")[0])
                return
            if self.http.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError("no server over HTTP")

    def broker(self) -> int | None:
        """The broker's process number; None: none is there now."""
        with suppress(FileNotFoundError, ValueError, psutil.NoSuchProcess):
            pid = int(Place(self.outdir).lock.read_text(encoding="ascii"))
            command = psutil.Process(pid).cmdline()
            return pid if "broker" in command and str(self.outdir) in command else None
        return None

    def kill_broker(self) -> None:
        """At once, whatever it does."""
        pid = self.broker()
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.event("broker killed", pid=pid)

    def stop_broker(self) -> None:
        """As its user stops it."""
        said_by("broker", "stop", "--outdir", str(self.outdir))
        self.event("broker stopped")

    def kill_http(self) -> None:
        """At once; its clients connect anew to the next one."""
        assert self.http is not None
        self.http_turns += 1
        self.http.kill()
        self.http.wait()
        self.start_http()
        self.http_turns += 1
        self.event("server over HTTP killed")

    def event(self, what: str, **more: Any) -> None:
        """What was done to it."""
        self.events.append({"s": self.now(), "what": what, **more})

    def look(self, calls: int) -> None:
        """Memory, processes, and jobs without an owner."""
        broker, http = self.broker(), self.http.pid if self.http else None
        self.memory.append(
            {
                "s": self.now(),
                "calls": calls,
                "broker_pid": broker,
                "broker_mib": resident(broker),
                "http_mib": resident(http),
                "processes": self._descendants(broker, http),
            }
        )
        self._ownerless(self._answering())

    def _descendants(self, *roots: int | None) -> int:
        found = [p for pid in roots for p in family(pid)]
        for process in found:
            with suppress(psutil.NoSuchProcess):
                self.seen[process.pid] = process.create_time()
        return len(found)

    def _answering(self) -> int | None:
        """The broker that says how it stands: it has opened the state by then."""
        with suppress(OSError):
            told = asked_of_broker(self.outdir, "status")
            return None if told is None else told["pid"]
        return None

    def _ownerless(self, broker: int | None) -> None:
        """Since when each job has had no living owner under this broker."""
        with Store.open(self.outdir / STATE_FILE) as store:
            records = job_records(store).values()
        dead = {r.job_id for r in records if not r.ended and not is_alive(r.owner)}
        known = self.ownerless if broker == self.answered else {}
        now = time.monotonic()
        self.answered = broker
        self.ownerless = {job: known.get(job, now) for job in dead}

    def forsaken(self) -> list[str]:
        """Jobs that had no living owner for long though a broker runs."""
        if self.answered is None:
            return []
        now = time.monotonic()
        return [job for job, since in self.ownerless.items() if now - since > ORPHAN_S]

    def end(self) -> list[str]:
        """End the servers; what of ours lives on all the same."""
        if self.http is not None:
            self.http.terminate()
            try:
                self.http.wait(END_S)
            except subprocess.TimeoutExpired:
                self.http.kill()
                self.http.wait()
        said_by("broker", "stop", "--outdir", str(self.outdir))
        left = psutil.wait_procs(self._ours(), GRACE_S)[1]
        told = [" ".join(command_of(p)[1:])[:200] for p in left]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        return told

    def _ours(self) -> list[psutil.Process]:
        """By what was seen beneath broker and server, by the mark, and by the project's path."""
        found = list[psutil.Process]()
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                seen = self.seen.get(process.pid) == process.create_time()
                marked = process.environ().get(MARK) == self.mark
                named = any(str(self.folder) in word for word in process.cmdline())
                if (seen or marked or named) and process.pid != os.getpid():
                    found.append(process)
        return found


def command_of(process: psutil.Process) -> list[str]:
    """The words that started it; none where it has ended."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def resident(pid: int | None) -> float | None:
    """Memory of a process in MiB."""
    with suppress(psutil.NoSuchProcess):
        return None if pid is None else round(psutil.Process(pid).memory_info().rss / 2**20, 1)
    return None


def family(pid: int | None) -> list[psutil.Process]:
    """A process and all beneath it."""
    if pid is None:
        return []
    with suppress(psutil.NoSuchProcess):  # zombies are none either
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []
