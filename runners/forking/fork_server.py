"""The fork server: it has loaded what processes of ours have in common, and forks one for each.

To load numpy, pydantic and our records takes 0.4 s of a core, to fork what has them a few
milliseconds. No kernel, no reference and no value ever comes here, and of what a process alone
does (to judge, to time, to build) nothing is loaded here: a child loads that itself. All children
have this process' address layout. That is why whatever runs a candidate's machine code is
*executed* by such a child (`native/executor.py`), with a layout of its own, as before.

A child is made in two forks, the first of which ends at once: the second one then comes to the
server, the nearest process that adopts orphans, and is a child of it like any other that it has
started. It is tied to the server, not to us. BLAS ends its threads before a fork and starts new
ones in the child that needs them, after that one has been confined.

argv is CHANNEL_FD and the modules to load. Messages out: `{"ready": true}` once they are; in, with
the descriptors of stdout, stderr, the child's channel and a pipe: `{"module", "arguments",
"environment", "limits", "folder"}`; out: `{"pid"}`, null where no child came of it. The child
begins when the server, which knows it by then, writes GO into that pipe, or else it ends.
"""

from __future__ import annotations

import gc
import os
import resource
import runpy
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import FileIO
from typing import Any

from ..collecting import nothing_collected
from ..errors import ProcessLost
from ..processes import launch
from ..processes.channel import Channel
from .command_line import show_as

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
"""the one variable of Python's own that a child may have another value of than we"""
GO = b"g"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a child is to be, and its descriptors: stdout, stderr, its channel and its start."""

    module: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    limits: dict[str, int]
    folder: str
    fds: tuple[int, int, int, int]

    @property
    def words(self) -> list[str]:
        """What it is seen under."""
        return [sys.executable, "-P", "-m", self.module, str(self.fds[2]), *self.arguments]


def main() -> None:
    """Serve until the channel closes; a child comes back from here as the module it is to be."""
    launch.prctl(launch.PR_SET_CHILD_SUBREAPER, 0)  # or orphans came to us, not to the server
    channel, owner = Channel.from_fd(int(sys.argv[1])), os.getppid()
    with nothing_collected():  # nor in a child, which would copy pages of what has been loaded
        for module in sys.argv[2:]:
            import_module(module)
        os.chdir("/")
        gc.collect()
    wanted = _serve(channel, owner)
    if wanted is not None and os.read(wanted.fds[3], 1) == GO:
        _become(wanted)


def _serve(channel: Channel, owner: int) -> Wanted | None:
    try:
        channel.send({"ready": True})
        while True:
            message, fds = channel.receive()
            wanted = _read(message, fds)
            pid = _forked(owner, wanted)
            if pid == 0:
                channel.close()
                return wanted
            channel.send({"pid": pid})
            for fd in fds:
                os.close(fd)
    except ProcessLost:
        return None  # the server is gone


def _read(message: dict[str, Any], fds: Sequence[int]) -> Wanted:
    stdout, stderr, channel, going = fds
    return Wanted(
        module=message["module"],
        arguments=tuple(message["arguments"]),
        environment=message["environment"],
        limits=message["limits"],
        folder=message["folder"],
        fds=(stdout, stderr, channel, going),
    )


def _forked(owner: int, wanted: Wanted) -> int | None:
    """The pid of a new child of `owner`, None where none came of it; 0 in that child, which is seen
    as what it is to be before it is told of: whoever sweeps up what is ours alone spares it."""
    try:
        with _pipe() as (told, telling), _pipe() as (going, go):
            between = os.fork()
            if between == 0:
                _fork_once_more(telling)
                go.close()
                _arrive(owner, wanted, going, telling)
                return 0
            telling.close()
            pid = int(told.read(20) or b"0")
            os.waitpid(between, 0)  # once it has ended, its child has come to the owner
            go.write(GO)
            return pid if pid and told.read(1) == GO else None
    except OSError:  # there is no process to have, or it has died meanwhile
        return None


def _arrive(owner: int, wanted: Wanted, going: FileIO, telling: FileIO) -> None:
    """Become the owner's child, and be seen as what it is to be."""
    try:
        if going.read(1) != GO:
            os._exit(1)  # the fork server is gone
        os.setsid()
        launch.enter_child(owner)  # which ends where somebody else has adopted us
        launch.set_limits(wanted.limits)
        os.environ.clear()
        os.environ.update(wanted.environment)
        show_as(wanted.words, wanted.environment)
        telling.write(GO)
    except (OSError, ValueError):
        os._exit(1)


def _fork_once_more(telling: FileIO) -> None:
    """Returns in the second fork alone: the first one tells its pid and ends."""
    try:
        pid = os.fork()
        if pid == 0:
            return
        telling.write(str(pid).encode())
    except OSError:
        os._exit(1)
    os._exit(0)


@contextmanager
def _pipe() -> Generator[tuple[FileIO, FileIO]]:
    read, write = os.pipe()
    with FileIO(read, "r") as reader, FileIO(write, "w") as writer:
        yield reader, writer


def _become(wanted: Wanted) -> None:
    """Be the module, as if Python had been started with it."""
    stdout, stderr, channel, _ = wanted.fds
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(3, channel)
    os.closerange(channel + 1, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096))
    os.chdir(wanted.folder)
    sys.dont_write_bytecode = bool(wanted.environment.get(NO_BYTECODE))
    sys.orig_argv[:] = wanted.words
    sys.argv[1:] = wanted.words[4:]
    runpy.run_module(wanted.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
