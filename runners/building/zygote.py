"""The process that forks one child for each build; it never runs candidate code itself.

What is slow to load (torch and Triton, NVRTC) is loaded here at the first request for it, so that a
build child has it for the price of a fork. This process must keep its one thread: a fork copies
no other, and whatever lock that one held stays locked. Messages in: `{"build": id, "folder",
"request"}`, or with `"list"` (cubins of the folder) in place of the request. Messages out:
`{"done": id}` with the outcome in `<folder>/outcome.json`, or `{"failed": id, "why"}` when the
child itself broke, with its `"returncode"` (null when it was late) and, when the disk of its folder
is full, `"no_room": true`.
"""

from __future__ import annotations

import os
import select
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from pydantic import TypeAdapter

from ..errors import KernelwrightError, ProcessLost
from ..model import Record
from ..plans import plan
from ..plans.plan import Module
from ..processes.channel import Channel
from ..processes.confined import leave
from ..processes.disk_room import FULL
from ..processes.killing import has_adopter
from ..processes.launch import pid_namespace_flags, separate
from ..processes.process import describe_returncode, enter_child, kill_tree
from ..toolchains import BuildOutcome, BuildRequest, named_toolchain, toolchain_for
from ..toolchains.compilers.listings import sass_modules
from ..whole_files import write_whole

OUTCOME = "outcome.json"
GRACE_S = 15.0  # beyond the compiler's own limit: writing, hashing, a loaded machine
LISTING_S = 60.0
BROKEN, NO_ROOM = 3, 4
"""Exit statuses of a child without an outcome."""
BUILD_NICE = 5
"""Builds run beside checks and timing on a GPU, whose host threads come first."""


class Listings(Record):
    """The outcome of a request to list machine code."""

    modules: tuple[Module, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What one child is to do in its folder, with the longest it may take."""

    work: Callable[[], Record]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Running:
    """A build child and when it will be killed."""

    build: int
    pid: int
    pidfd: int
    deadline: float


def main() -> None:
    """Serve builds until the channel closes."""
    channel = Channel.from_fd(int(sys.argv[1]))
    for model in (BuildOutcome, *_models(plan)):  # here once, or each child makes its own
        model.model_rebuild()
    namespace = pid_namespace_flags()  # tried while there is little to fork
    running: dict[int, Running] = {}
    try:
        while True:
            for fd in _ready(channel, running):
                if fd == channel.fileno():
                    message, _ = channel.receive()
                    child = _fork_build(channel, message, namespace)
                    running[child.pidfd] = child
                else:
                    _report(channel, running.pop(fd))
            for child in [c for c in running.values() if time.monotonic() > c.deadline]:
                kill_tree(child.pid)
                os.close(running.pop(child.pidfd).pidfd)
                late = {"failed": child.build, "why": "it did not end in time"}
                channel.send(late | {"returncode": None, "no_room": False})
    except ProcessLost:
        pass  # the server is gone: its builds have no reader
    finally:
        for child in running.values():
            kill_tree(child.pid)


def _models(module: ModuleType) -> Iterator[type[Record]]:
    """The models that a module defines."""
    for found in vars(module).values():
        if isinstance(found, type) and issubclass(found, Record) and found is not Record:
            yield found


def _ready(channel: Channel, running: dict[int, Running]) -> list[int]:
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    for fd in running:
        poll.register(fd, select.POLLIN)
    nearest = min((c.deadline for c in running.values()), default=None)
    patience = None if nearest is None else max(0.0, nearest - time.monotonic()) * 1000 + 1
    return [fd for fd, _ in poll.poll(patience)]


def _fork_build(channel: Channel, message: dict[str, object], namespace: int) -> Running:
    folder = Path(str(message["folder"]))
    job = _job(message, folder)
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        _work_in_child(parent, channel, job, folder, namespace)
    deadline = time.monotonic() + job.timeout_s + GRACE_S
    return Running(int(str(message["build"])), pid, os.pidfd_open(pid), deadline)


def _job(message: dict[str, object], folder: Path) -> Job:
    if "list" in message:
        cubins = TypeAdapter(list[Module]).validate_python(message["list"])
        return Job(partial(_listings, cubins, folder), LISTING_S)
    request = BuildRequest.model_validate(message["request"])
    _preload(request.kernel.spec.kernel.kernel_type)
    return Job(partial(_outcome, request, folder), request.timeout_s)


def _preload(kernel_type: str) -> None:
    """A broken installation is the build child's to report; other builds go on."""
    try:
        named_toolchain(kernel_type).preload()
    except Exception:
        traceback.print_exc()


def _work_in_child(
    parent: int, channel: Channel, job: Job, folder: Path, namespace: int
) -> NoReturn:
    code = BROKEN
    try:
        enter_child(parent)
        os.setsid()
        os.nice(BUILD_NICE)
        channel.close()
        adopter = separate(parent, namespace)  # compilers start programs: those die with us
        if adopter is not None:
            has_adopter(adopter)
        os.chdir(folder)
        outcome = job.work()
        write_whole(folder / OUTCOME, outcome.model_dump_json())
        code = 0
    except OSError as error:
        code = NO_ROOM if error.errno in FULL else BROKEN
        traceback.print_exc()
    except BaseException:
        traceback.print_exc()
    finally:
        leave(code)


def _outcome(request: BuildRequest, folder: Path) -> BuildOutcome:
    try:
        return toolchain_for(request.kernel.spec.kernel.kernel_type).build(request, folder)
    except ProcessLost as error:
        return BuildOutcome(message=str(error), lost=True)
    except KernelwrightError as error:
        return BuildOutcome(message=str(error), rejected=True)


def _listings(cubins: list[Module], folder: Path) -> Listings:
    return Listings(modules=tuple(sass_modules(cubins, folder).values()))


def _report(channel: Channel, child: Running) -> None:
    os.close(child.pidfd)
    _, status = os.waitpid(child.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        channel.send({"done": child.build})
    else:
        failed = {"failed": child.build, "why": describe_returncode(code), "returncode": code}
        channel.send(failed | {"no_room": code == NO_ROOM})


if __name__ == "__main__":
    main()
