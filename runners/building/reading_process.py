"""A process that reads sources for whoever asks, one at a time: started when it is first asked for,
anew where it was lost, and ended with ours. What it loads takes as long as many readings."""

from __future__ import annotations

import atexit
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import KernelwrightError, ProcessLost
from ..forking.starting import start_python
from ..processes.channel import Channel
from ..processes.killed import last_error
from ..processes.process import Child, Limits, clean_environment

SEND_S = 10.0


class ReadingProcess:
    """The process of a module that calls `answer_all`. For any thread."""

    def __init__(self, module: str, does: str, patience_s: float) -> None:
        """`module`: of this package; `does`: what it does, in words that follow `the process that`;
        `patience_s`: beyond which an answer, which has a limit of its own, is given up."""
        self._module, self._does, self._patience_s = module, does, patience_s
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        atexit.register(self.close)

    def ask(self, message: Mapping[str, object]) -> dict[str, Any] | str:
        """What it answers, or why there is no answer."""
        with self._lock:
            try:
                channel = self._running().channel
                channel.send({**message}, timeout=SEND_S)
                answer, _ = channel.receive(timeout=self._patience_s)
            except (KernelwrightError, OSError) as error:  # TimeoutError is an OSError
                said = "" if self._child is None else last_error(self._child.stderr_text())
                self._end()
                return f"the process that {self._does} was lost: {said or error}"
        return str(answer["failed"]) if "failed" in answer else answer

    def close(self) -> None:
        """End the process; for the end of ours."""
        with self._lock:
            self._end()

    def _running(self) -> Child:
        if self._child is None or not self._child.usable:
            self._end()
            self._folder = tempfile.TemporaryDirectory(prefix="kernelwright-reading-")
            scratch = Path(self._folder.name)
            self._child = start_python(
                f"kernelwright.runners.building.{self._module}",
                name=self._module,
                scratch=scratch,
                environment=clean_environment(scratch),
                limits=Limits(),
            )
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            self._child.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._child, self._folder = None, None


def answer_all(
    descriptor: int, preload: Callable[[], object], answer: Callable[[Mapping[str, Any]], Any]
) -> None:
    """In the process: answer what is asked for until the channel closes."""
    channel = Channel.from_fd(descriptor)
    try:
        preload()
    except Exception:  # a broken installation is told by the reading that meets it
        traceback.print_exc()
    try:
        while True:
            message, _ = channel.receive()
            channel.send(answer(message))
    except ProcessLost:
        pass  # whoever asked is gone
