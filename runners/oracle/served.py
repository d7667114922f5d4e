"""One process of the oracle as the server keeps it: asked, and started anew when it is lost."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import KernelwrightError, ProcessLost, ReferenceFailed
from ..model import Record
from ..processes.process import Child
from ..processes.seccomp import has_seccomp
from .messages import refusal_in

ANSWER_S = 180.0
AGAIN = "ask again; a fresh oracle knows what this one knew"

Answered = tuple[dict[str, Any], list[int]]
Question = tuple[str, Record, tuple[int, ...]]
"""a verb, its message, and descriptors that go along"""


class ReferenceEnded(ReferenceFailed):
    """The reference's process is gone, or silent for too long (`late`)."""

    late = False


class _Fallen(Exception):
    """The process, or the GPU under it, is gone in the middle of a question."""

    def __init__(self, error: KernelwrightError) -> None:
        super().__init__(str(error))
        self.error = error


class Served:
    """`start` starts the process, `known` tells each new one what those before it were told.

    `users_code`: the user's code runs there, so that its end is a failure of the reference.
    `twice`: what fell in the midst of a question is asked once more, of a new process: on a GPU,
    after a crash in the runner, a reference failed that had worked before and worked again (once
    in 30 crashes on an H200, why is not known).
    """

    def __init__(
        self,
        start: Callable[[], Child],
        known: Callable[[], Iterator[Question]],
        *,
        users_code: bool,
        twice: bool,
    ) -> None:
        self._start, self._known = start, known
        self._users_code, self._twice = users_code, twice
        self._child: Child | None = None

    def begin(self) -> None:
        """Have the process started, so that two of them can start beside each other."""
        self._running()

    def ask(
        self, verb: str, message: Record, fds: Sequence[int] = (), timeout_s: float = ANSWER_S
    ) -> Answered:
        """An answer. Raises what the process says, ProcessLost, and ReferenceEnded."""
        try:
            return self._once(verb, message, fds, timeout_s)
        except _Fallen as fallen:
            if not self._twice:
                raise fallen.error from fallen
        try:
            return self._once(verb, message, fds, timeout_s)
        except _Fallen as fallen:
            raise fallen.error from fallen

    def let_go(self, verb: str, message: Record) -> None:
        """Have the process forget something; one that is gone, or is lost now, has."""
        child = self._child
        if child is not None and child.poll() is None:
            try:
                self._exchange(child, verb, message, (), ANSWER_S)
            except (_Fallen, ProcessLost, TimeoutError):
                self.end()

    def end(self) -> None:
        """End the process; what is asked next starts another."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _once(self, verb: str, message: Record, fds: Sequence[int], timeout_s: float) -> Answered:
        try:
            return self._exchange(self._running(), verb, message, fds, timeout_s)
        except TimeoutError as error:
            raise self._lost(error, timeout_s) from error
        except ProcessLost as error:
            lost = self._lost(error, timeout_s)
            if isinstance(lost, ProcessLost):  # ended from outside: the caller decides
                raise lost from error
            raise _Fallen(lost) from error

    def _running(self) -> Child:
        if self._child is not None and self._child.usable:
            return self._child
        self.end()
        child = self._child = self._start()
        for verb, message, fds in self._known():
            self._exchange(child, verb, message, fds, ANSWER_S)
        return child

    def _exchange(
        self, child: Child, verb: str, message: Record, fds: Sequence[int], timeout_s: float
    ) -> Answered:
        child.channel.send({"verb": verb, "body": message.model_dump(mode="json")}, fds)
        reply, out = child.receive(timeout=timeout_s)
        if (refusal := refusal_in(reply)) is not None:
            if reply["spent"]:  # the GPU no longer works for that process
                self.end()
                raise _Fallen(refusal)
            raise refusal
        return reply, out

    def _lost(
        self, error: ProcessLost | TimeoutError, timeout_s: float
    ) -> ReferenceEnded | ProcessLost:
        """What to say when the process is gone, silent or stopped; it is ended."""
        late, child = isinstance(error, TimeoutError), self._child
        why = detail = ""
        returncode = None
        if child is not None:
            returncode = child.wait(0.0 if late else 1.0)
            why = f": it took over {timeout_s:g} s" if late else f": {child.describe_end()}"
            detail = child.stderr_text(1000).strip()
        self.end()
        if returncode is None and not late:
            return ProcessLost(str(error), next_step=AGAIN)
        if returncode == -signal.SIGKILL and has_seccomp():  # the filter lets it not do so itself
            return ProcessLost(
                "the oracle was killed from outside, or by the system because memory ran out",
                next_step=f"{AGAIN}; if it happens again, look at the system's messages (dmesg) "
                "and at how much memory reference and inputs take",
            )
        told = f"{why}" + (f"\n{detail}" if detail and not late else "")
        if not self._users_code:
            return ProcessLost(f"the judge's process ended{told}", next_step=AGAIN)
        ended = ReferenceEnded(
            f"the reference ended its process{told}",
            next_step="call the reference by hand on a small input",
        )
        ended.late = late
        return ended
