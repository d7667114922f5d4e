"""A running child: watching it, reading what it wrote, and ending it (`killing.py`)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakSet

from ..errors import KernelwrightError, ProcessLost
from .channel import Channel
from .killing import reap_orphans, sweep, waited_for
from .process_table import is_stopped, stands_still

TEXT_BYTES = 64 << 10
KILL_PATIENCE_S = 10.0
LONGEST_MS = (1 << 31) - 1
"""that poll(2) takes"""
LOOK_S = 1.0
STOPPED_LOOKS = 3
"""for so many looks on end a child that owes us an answer may stand still"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may use; None means without limit. There are never core dumps."""

    wall_s: float | None = None
    """Seconds from start to SIGKILL; None for a child that its owner ends."""
    cpu_s: int | None = None
    """Processor seconds of each process (RLIMIT_CPU)."""
    memory_bytes: int | None = None
    """Address space of each process (RLIMIT_AS); None for CUDA, which reserves terabytes."""
    file_bytes: int = 1 << 30
    """Largest file it may write (RLIMIT_FSIZE), its stdout included; past it: EFBIG."""
    open_files: int = 1024

    def rlimits(self) -> dict[str, int]:
        """Names of the `resource` module and their values."""
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
        }
        if self.cpu_s is not None:
            limits["RLIMIT_CPU"] = self.cpu_s
        if self.memory_bytes is not None:
            limits["RLIMIT_AS"] = self.memory_bytes
        return limits


def describe_returncode(returncode: int) -> str:
    """How a process ended, in words: "exit status 3", "killed by SIGSEGV"."""
    if returncode >= 0:
        return f"exit status {returncode}"
    try:
        return f"killed by {signal.Signals(-returncode).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-returncode}"


class Log:
    """Where a child writes stdout or stderr: read through our own descriptor, never by name,
    so that a child which puts a link in the file's place learns nothing."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW
        self.fd = os.open(path, flags, 0o600)
        self._kept = ""

    def text(self, limit: int) -> str:
        """All of it, or the first and last `limit`/2 bytes and how much lies between."""
        if self.fd < 0:
            return self._kept
        size = os.fstat(self.fd).st_size
        if size <= limit:
            return os.pread(self.fd, size, 0).decode(errors="replace")
        half = limit // 2
        head, tail = os.pread(self.fd, half, 0), os.pread(self.fd, half, size - half)
        left_out = f"\n[... {size - 2 * half} bytes left out ...]\n"
        return head.decode(errors="replace") + left_out + tail.decode(errors="replace")

    def close(self) -> None:
        if self.fd >= 0:
            self._kept = self.text(TEXT_BYTES)
            os.close(self.fd)
            self.fd = -1


_living: WeakSet[Child] = WeakSet()
_living_lock = threading.Lock()


def kill_living(spared: Container[str] = ()) -> None:
    """End every child of this process but those of some names. Whoever waits for one finds it lost,
    as if somebody else had killed it."""
    with _living_lock:
        living = [child for child in _living if child.ended is None and child.name not in spared]
    for child in living:
        child.kill()


class Process(Protocol):
    """What a child is waited for by: a `Popen`, or what was forked for us (`forking`)."""

    @property
    def pid(self) -> int:
        """Its number, which stays its own until it is waited for."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Its return code. Raises subprocess.TimeoutExpired."""
        ...


class Child:
    """A process of ours and everything it starts. Leaving its `with` block kills it."""

    def __init__(
        self,
        process: Process,
        *,
        name: str,
        mark: str,
        limits: Limits,
        logs: tuple[Log, Log],
        channel: Channel | None = None,
    ) -> None:
        self.pid = process.pid
        self.name = name
        self.limits = limits
        self.started = time.monotonic()
        self.ended: float | None = None
        self.timed_out = False
        self.stopped = False
        """when its time was over, it or something beneath it stood still after a SIGSTOP"""
        self._process = process
        self._mark = mark
        self._logs = logs
        self._channel = channel
        self._pidfd = os.pidfd_open(process.pid)
        self._lock = threading.RLock()
        self._returncode: int | None = None
        self._killed = False
        with _living_lock:
            _living.add(self)

    @property
    def channel(self) -> Channel:
        """Our end of the channel of a child started with `start_python`."""
        if self._channel is None:
            raise KernelwrightError(f"{self.name} was started without a channel")
        return self._channel

    def poll(self) -> int | None:
        """The return code (negative: the signal), None while it runs. Never blocks for long.

        When the child is seen to have ended, what it left behind is killed before we return.
        """
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> int | None:
        """The return code, or None if it still runs after `timeout` seconds.

        Kills the child when its wall-clock limit passes meanwhile.
        """
        if self._returncode is None:
            now = time.monotonic()
            left = self.wall_left(now)
            patience = left if timeout is None else min(timeout, left)
            if self._has_ended(None if patience == float("inf") else patience):
                self._finish()
            elif self.wall_left(time.monotonic()) <= 0:
                self._kill(timed_out=True)
        return self._returncode

    @property
    def usable(self) -> bool:
        """Whether it runs, and nobody has stopped it meanwhile."""
        return self.poll() is None and not is_stopped(self.pid)

    def receive(
        self, timeout: float | None = None, look_s: float = LOOK_S
    ) -> tuple[dict[str, Any], list[int]]:
        """The next message of its channel, as `Channel.receive`.

        Raises ProcessLost, too, when the child stands still for a few looks: nobody but an outsider
        stops it, and it might never go on.
        """
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        stood_still = 0
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                return self.channel.receive(timeout=min(left, look_s))
            except TimeoutError:
                if left == 0.0:
                    raise
            stood_still = stood_still + 1 if is_stopped(self.pid) else 0
            if stood_still > STOPPED_LOOKS:
                raise ProcessLost(f"{self.name} was stopped from outside (SIGSTOP)")

    def wall_left(self, now: float) -> float:
        """Seconds until the wall-clock limit; infinite without one."""
        if self.limits.wall_s is None:
            return float("inf")
        return max(0.0, self.started + self.limits.wall_s - now)

    @property
    def killed(self) -> bool:
        """Whether we ended it."""
        return self._killed

    def kill(self) -> None:
        """End the child and everything beneath it, and reap it. May be called again."""
        self._kill(timed_out=False)

    def stdout_text(self, limit: int = TEXT_BYTES) -> str:
        """What it wrote to stdout so far; the middle is left out beyond `limit` bytes."""
        return self._logs[0].text(limit)

    def stderr_text(self, limit: int = TEXT_BYTES) -> str:
        """What it wrote to stderr so far; the middle is left out beyond `limit` bytes."""
        return self._logs[1].text(limit)

    def describe_end(self) -> str:
        """How it ended, in words: "exit status 3", "killed by SIGSEGV", "killed after 10 s"."""
        if self._returncode is None:
            return "still running"
        if self.timed_out:
            why = ", stopped from outside (SIGSTOP)" if self.stopped else ""
            return f"killed after {self.limits.wall_s:g} s{why}"
        if self._killed:
            return "killed by its owner"
        return describe_returncode(self._returncode)

    def close(self) -> None:
        """Kill it and close our descriptors; the texts stay readable up to `TEXT_BYTES`."""
        self.kill()
        with self._lock:
            for log in self._logs:
                log.close()
            if self._channel is not None:
                self._channel.close()
            if self._pidfd >= 0:
                os.close(self._pidfd)
                self._pidfd = -1

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _kill(self, *, timed_out: bool) -> None:
        with self._lock:
            if self._returncode is None and not self._has_ended(0.0):
                self._killed = True
                self.timed_out |= timed_out
                self.stopped = timed_out and stands_still(self.pid)
            self._finish()

    def _has_ended(self, timeout: float | None) -> bool:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(None if timeout is None else min(timeout * 1000, LONGEST_MS)))

    def _finish(self) -> None:
        with self._lock:
            if self._returncode is not None:
                return
            sweep(self.pid, self._mark)
            try:
                self._returncode = self._process.wait(KILL_PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                raise ProcessLost(
                    f"{self.name} (pid {self.pid}) does not die: it hangs in the kernel",
                    next_step="look at the driver's messages (dmesg); a restart may be needed",
                ) from error
            self.ended = time.monotonic()
            waited_for(self.pid)
            reap_orphans()
