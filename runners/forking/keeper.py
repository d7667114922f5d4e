"""The fork server as who starts processes keeps it: started when it is first of use."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..errors import ProcessLost
from ..processes.channel import Channel
from ..processes.child import Child, Limits
from ..processes.killing import MARK, starting
from ..processes.process import spawner
from ..processes.start import clean_environment, next_mark, open_logs, start_module
from .fork_server import GO

FORK_SERVER = "fork_server"
"""the child's name"""
OURS = __name__.partition(".")[0]
MODULE = __name__.replace("keeper", "fork_server")
PRELOADED = tuple(
    f"{OURS}.runners.{name}"
    for name in ("plans.plan", "protocol.messages", "protocol.outputs", "protocol.shared_arena")
)
"""What runner, judge, reference and builder all load, with numpy and pydantic: values and how they
travel. Nothing of a role: what times has not even loaded what judges."""
MOST = Limits(file_bytes=64 << 30)
"""Its own limits, beyond which no child of it can have any."""
READ_AT_START = ("PYTHON", "LD_", "LC_", "LANG", "MALLOC_", "GLIBC_")
"""How the variables begin by which a program starts otherwise; all others are read when they are
asked for, and a forked child has its own."""
SET_LATER = {"PYTHONDONTWRITEBYTECODE"}
FORKED_S: Final = 10.0
"""for the fork server to load, for another's fork to come to its end, for one's own: each. It takes
a few milliseconds; whoever has waited so long is started plainly."""
READY_S: Final = 60.0
"""for it to load at all, on however busy a machine"""
AGAIN_S: Final = 60.0
"""from a fork server that did not begin to the next try"""
LOOK_S: Final = 0.05
"""between looks whether it stands still"""


@dataclass(frozen=True, slots=True)
class Forked:
    """A child that we did not start ourselves; `Popen`, as far as `Child` needs one."""

    pid: int

    def wait(self, timeout: float | None = None) -> int:
        """See `child.Process`. As with `Popen`, 0 when somebody else here has waited for it."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return 0
        try:
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            if not poll.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        except ChildProcessError:
            return 0
        finally:
            os.close(pidfd)


class ForkServer:
    """Starts children by a fork server of its own. For any number of threads: who waits for a fork
    holds up nobody else for longer than `FORKED_S`, and only those who want one too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._ready = False
        self._begun_with: dict[str, str] = {}
        self._not_before = 0.0

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        *,
        name: str,
        scratch: Path,
        environment: Mapping[str, str],
        limits: Limits,
    ) -> Child | None:
        """A child that runs a module, as `start_module`; None where it has to be started plainly,
        as it asks for what no fork has, or nothing can be forked in time."""
        if not _within(limits.rlimits(), MOST.rlimits()):
            return None
        mark, logs, (ours, theirs) = next_mark(), open_logs(scratch, name), Channel.pair()
        message = {
            "module": module,
            "arguments": list(arguments),
            "environment": {MARK: mark, **environment},
            "limits": limits.rlimits(),
            "folder": str(scratch),
        }
        going, go = os.pipe()
        given = [log.fd for log in logs] + [theirs.fileno(), going]
        child: Child | None = None
        try:
            pid = self._forked(message, given, _read_at_start(environment))
            process = None if pid is None else _known(pid)
            if process is not None:
                child = Child(process, name=name, mark=mark, limits=limits, logs=logs, channel=ours)
                os.write(go, GO)
            return child
        except (ProcessLookupError, BrokenPipeError):  # killed before it began
            return child
        finally:
            theirs.close()
            os.close(going)
            os.close(go)  # one that nobody knows of ends by that
            if child is None:
                ours.close()
                for log in logs:
                    log.close()

    def close(self) -> None:
        """End the fork server; its children go on."""
        with self._lock:
            self._end()

    def _forked(
        self, message: dict[str, Any], fds: Sequence[int], wanted: Mapping[str, str]
    ) -> int | None:
        """The pid of a child that waits for its GO; None: there is none, or not in time."""
        if not self._lock.acquire(timeout=FORKED_S):
            return None
        try:
            server = self._serving()
            if server is None or wanted != self._begun_with:
                return None
            server.channel.send(message, fds, timeout=FORKED_S)
            return server.receive(timeout=FORKED_S, look_s=LOOK_S)[0]["pid"]
        except (ProcessLost, TimeoutError):
            self._end()
            return None
        finally:
            self._lock.release()

    def _serving(self) -> Child | None:
        """The fork server, where it has loaded."""
        if self._child is not None and not self._child.usable:
            self._end()
        if self._child is None:
            if time.monotonic() < self._not_before:
                return None
            self._begin()
        return self._child if self._ready or self._loaded() else None

    def _begin(self) -> None:
        with tempfile.TemporaryDirectory(prefix="kernelwright-forks-") as folder:
            scratch = Path(folder)
            environment = clean_environment(scratch)
            self._begun_with = _read_at_start(environment)
            # By the thread that ends only with the process: it dies with who started it.
            self._child = spawner().do(
                lambda: start_module(
                    MODULE,
                    PRELOADED,
                    name=FORK_SERVER,
                    scratch=scratch,
                    environment=environment,
                    limits=MOST,
                )
            )

    def _loaded(self) -> bool:
        """Whether it is ready in time. One that cannot load is not tried again soon: who is started
        plainly tells what is the matter."""
        child = self._child
        assert child is not None
        try:
            child.receive(timeout=FORKED_S, look_s=LOOK_S)
            self._ready = True
        except TimeoutError:  # the next start waits for it again
            if time.monotonic() - child.started > READY_S:
                self._give_up()
        except ProcessLost:
            self._give_up()
        return self._ready

    def _give_up(self) -> None:
        self._not_before = time.monotonic() + AGAIN_S
        self._end()

    def _end(self) -> None:
        child, self._child, self._ready = self._child, None, False
        if child is not None:
            child.close()


def _known(pid: int) -> Forked | None:
    """The child, which nobody else waits for from now on; None: it has ended by now."""
    with starting() as own:
        if not Path(f"/proc/{pid}").exists():
            return None
        own.add(pid)
    return Forked(pid)


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name not in SET_LATER
    }


def _within(limits: Mapping[str, int], most: Mapping[str, int]) -> bool:
    return all(limits[name] <= bound for name, bound in most.items())
