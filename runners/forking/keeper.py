"""The fork server as who starts processes keeps it: started when it is first of use."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ProcessLost
from ..processes.channel import Channel
from ..processes.child import Child, Limits
from ..processes.killing import MARK, starting
from ..processes.start import clean_environment, next_mark, open_logs, start_module

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
READY_S, FORKED_S = 30.0, 10.0


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
    """Starts children by a fork server of its own. For one thread, whose children they are."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._begun_with: dict[str, str] = {}
        self._of_use = True

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
        as it asks for what no fork has, or nothing can be forked."""
        if not _within(limits.rlimits(), MOST.rlimits()):
            return None
        server = self._serving(_read_at_start(environment))
        if server is None:
            return None
        mark, logs, (ours, theirs) = next_mark(), open_logs(scratch, name), Channel.pair()
        message = {
            "module": module,
            "arguments": list(arguments),
            "environment": {MARK: mark, **environment},
            "limits": limits.rlimits(),
            "folder": str(scratch),
        }
        with starting() as own:
            pid = self._asked(server, message, [log.fd for log in logs] + [theirs.fileno()])
            if pid is not None:
                own.add(pid)
        theirs.close()
        if pid is not None:
            process = Forked(pid)
            return Child(process, name=name, mark=mark, limits=limits, logs=logs, channel=ours)
        ours.close()
        for log in logs:
            log.close()
        return None

    def close(self) -> None:
        """End the fork server; its children go on."""
        self._end()

    def _serving(self, wanted: Mapping[str, str]) -> Child | None:
        """The fork server, if children of it find such variables."""
        if self._of_use and (self._child is None or not self._child.usable):
            self._end()
            self._begin()
        return self._child if wanted == self._begun_with else None

    def _begin(self) -> None:
        """One that cannot load what it is to load is not tried again: who is started plainly tells
        what is the matter."""
        with tempfile.TemporaryDirectory(prefix="kernelwright-forks-") as folder:
            scratch = Path(folder)
            environment = clean_environment(scratch)
            self._begun_with = _read_at_start(environment)
            self._child = start_module(
                MODULE,
                PRELOADED,
                name=FORK_SERVER,
                scratch=scratch,
                environment=environment,
                limits=MOST,
            )
            try:
                self._child.receive(timeout=READY_S)
            except (ProcessLost, TimeoutError):
                self._of_use = False
                self._end()

    def _asked(self, server: Child, message: dict[str, Any], fds: Sequence[int]) -> int | None:
        """The pid of a new child; None when there is none, or the fork server was lost."""
        try:
            server.channel.send(message, fds, timeout=FORKED_S)
            return server.receive(timeout=FORKED_S)[0]["pid"]
        except (ProcessLost, TimeoutError):
            self._end()
            return None

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name not in SET_LATER
    }


def _within(limits: Mapping[str, int], most: Mapping[str, int]) -> bool:
    return all(limits[name] <= bound for name, bound in most.items())
