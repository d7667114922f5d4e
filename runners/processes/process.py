"""Children of any thread, and commands that run to their end: nothing of them stays behind."""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import launch
from .child import TEXT_BYTES, Child, Limits, describe_returncode
from .killing import kill_tree
from .launch import enter_child
from .start import (
    clean_environment,
    has_pid_namespaces,
    probe_pid_namespaces,
    start_child,
)

__all__ = [
    "Child",
    "Finished",
    "Limits",
    "Spawner",
    "clean_environment",
    "describe_returncode",
    "enter_child",
    "has_pid_namespaces",
    "kill_tree",
    "probe_pid_namespaces",
    "run_limited",
    "spawner",
]

_numbers = itertools.count(1)
LONGEST_S = 3600.0
"""between two looks at limits: no wait of the system takes any number of seconds"""


class Spawner:
    """The one thread that starts children: they die with the thread that started them, and this
    one ends only with the process. It also kills children whose wall-clock limit has passed.

    Makes this process a subreaper: orphaned descendants come to us instead of to init.
    """

    def __init__(self) -> None:
        launch.prctl(launch.PR_SET_CHILD_SUBREAPER, 1)
        self._requests: queue.SimpleQueue[tuple[Callable[[], Child], Future[Child]]]
        self._requests = queue.SimpleQueue()
        self._watched: list[Child] = []
        threading.Thread(target=self._serve, name="spawner", daemon=True).start()

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        name: str,
        scratch: Path,
        environment: Mapping[str, str],
        limits: Limits,
        pass_fds: Sequence[int] = (),
        supervised: bool = False,
    ) -> Child:
        """Start `argv` in `scratch`, with stdout and stderr in `<name>.stdout` and `.stderr`.

        `pass_fds` keep their numbers in the child. `supervised` is for programs that start
        others (compilers, profilers): nothing survives the program's end. A program that cannot
        be executed ends with status 127; one that is not on PATH raises KernelwrightError.
        """
        return self.do(
            lambda: start_child(
                argv,
                name=name,
                scratch=scratch,
                environment=environment,
                limits=limits,
                pass_fds=pass_fds,
                supervised=supervised,
            )
        )

    def do(self, start: Callable[[], Child]) -> Child:
        """What `start` starts in that thread; it must not take long, as all others wait for it."""
        future: Future[Child] = Future()
        self._requests.put((start, future))
        return future.result()

    def _serve(self) -> None:
        while True:
            now = time.monotonic()
            nearest = min((child.wall_left(now) for child in self._watched), default=float("inf"))
            try:
                start, future = self._requests.get(
                    timeout=None if nearest == float("inf") else min(nearest, LONGEST_S)
                )
            except queue.Empty:
                self._end_overdue()
                continue
            try:
                child = start()
            except Exception as error:
                future.set_exception(error)
            else:
                self._watch(child)
                future.set_result(child)

    def _watch(self, child: Child) -> None:
        self._watched = [known for known in self._watched if known.ended is None]
        if child.limits.wall_s is not None:
            self._watched.append(child)

    def _end_overdue(self) -> None:
        now = time.monotonic()
        overdue = [child for child in self._watched if child.wall_left(now) <= 0]
        self._watched = [child for child in self._watched if child not in overdue]
        for child in overdue:  # killing can take seconds (a driver cleaning up): not in this thread
            threading.Thread(target=child.poll, name=f"end {child.name}", daemon=True).start()


@cache
def spawner() -> Spawner:
    """The spawner of this process, started on first use; a forked child gets one of its own."""
    return Spawner()


os.register_at_fork(after_in_child=spawner.cache_clear)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended. `returncode` is negative for a signal; texts may lack their middle."""

    returncode: int
    timed_out: bool
    stopped: bool
    """it timed out because something of it stood still after a SIGSTOP"""
    stdout: str
    stderr: str
    wall_s: float
    ending: str
    """In words, as `Child.describe_end`."""

    @property
    def signal(self) -> int | None:
        """The signal that killed it."""
        return -self.returncode if self.returncode < 0 else None


def run_limited(
    argv: Sequence[str | Path],
    *,
    scratch: Path,
    environment: Mapping[str, str],
    limits: Limits,
    pass_fds: Sequence[int] = (),
    text_bytes: int = TEXT_BYTES,
    stdin: Path | None = None,
) -> Finished:
    """Run a command in `scratch` to its end, supervised: no process of it outlives the call, nor
    this process, however either is killed. For any thread; it needs no spawner.

    Raises KernelwrightError for a program that is not on PATH.
    """
    name = f"{Path(argv[0]).name}.{next(_numbers)}"
    with start_child(
        argv,
        name=name,
        scratch=scratch,
        environment=environment,
        limits=limits,
        pass_fds=pass_fds,
        supervised=True,
        stdin=stdin,
    ) as child:
        returncode = child.wait()
        while returncode is None:
            returncode = child.wait()
        return Finished(
            returncode=returncode,
            timed_out=child.timed_out,
            stopped=child.stopped,
            stdout=child.stdout_text(text_bytes),
            stderr=child.stderr_text(text_bytes),
            wall_s=(child.ended or time.monotonic()) - child.started,
            ending=child.describe_end(),
        )
