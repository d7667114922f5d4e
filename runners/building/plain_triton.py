"""What Triton sources launch and their kernels as TTIR, for reading, by a process of its own that
stays: loading torch and Triton takes seconds, and calling a source a fraction of one.

Messages in: `{"source", "file", "requests"}`, a request for each shape (`CaptureRequest`); messages
out: `{"launches"}` (`Launches` as JSON, in order), or `{"failed"}` with the reason. That process
keeps its one thread: the source's Python runs in confined forks of it.
"""

from __future__ import annotations

import atexit
import json
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ..capture.launches import Launches, read_launches
from ..capture.messages import CaptureRequest
from ..errors import KernelwrightError, ProcessLost
from ..forking.starting import start_python
from ..processes.channel import Channel
from ..processes.confined import Bounds, ConfinedFork, python_folders, read_left, run_all
from ..processes.killed import last_error
from ..processes.process import Child, Limits, clean_environment
from ..toolchains import triton_jit
from ..toolchains.triton_captures import private_folders

PATIENCE_S = 90.0
"""beyond which an answer, which has a limit of its own, is given up"""
CALL_S = 20.0
"""of one call of a source"""
MOST_BYTES = 8 << 20
KEPT = 256


@lru_cache(maxsize=KEPT)
def launched_plainly(source: str, requests: tuple[str, ...]) -> tuple[Launches, ...] | str:
    """What a source launches at each shape, or why it cannot be told. For any thread; kept by what
    was asked. `requests`: `CaptureRequest` as JSON, with one and the same `source_path`."""
    if why := triton_jit.TOOLCHAIN.missing():
        return why
    return _READER.read(source, requests)


class _Reader:
    """The process, started when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def read(self, source: str, requests: Sequence[str]) -> tuple[Launches, ...] | str:
        """One source at a time; a process that was lost is started anew at the next one."""
        with self._lock:
            try:
                channel = self._running().channel
                channel.send({"source": source, "requests": [*requests]}, timeout=10.0)
                answer, _ = channel.receive(timeout=PATIENCE_S)
            except (KernelwrightError, OSError) as error:  # TimeoutError is an OSError
                said = "" if self._child is None else last_error(self._child.stderr_text())
                self._end()
                return f"the process that reads Triton sources was lost: {said or error}"
        if "failed" in answer:
            return str(answer["failed"])
        return tuple(Launches.model_validate(each) for each in answer["launches"])

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
                "kernelwright.runners.building.plain_triton",
                name="plain_triton",
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


_READER = _Reader()
atexit.register(_READER.close)


def main() -> None:
    """Read what is asked for until the channel closes."""
    channel = Channel.from_fd(int(sys.argv[1]))
    try:
        triton_jit.preload()
    except Exception:  # a broken installation is told by the fork that meets it
        traceback.print_exc()
    try:
        while True:
            message, _ = channel.receive()
            channel.send(_answer(message))
    except ProcessLost:
        pass  # whoever asked is gone


def _answer(message: Mapping[str, Any]) -> dict[str, Any]:
    requests = [CaptureRequest.model_validate_json(each) for each in message["requests"]]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder, logs = Path(name) / "work", Path(name) / "logs"
        for made in (folder, logs):
            made.mkdir()
        (folder / requests[0].source_path).write_text(str(message["source"]), encoding="utf-8")
        forks = [partial(_fork, each, n, folder, logs) for n, each in enumerate(requests)]
        found = list[Any]()
        for number, ended in enumerate(run_all(forks)):
            try:
                left = read_left(folder / f"{number}.json", MOST_BYTES)
                found.append(json.loads(left))
            except (OSError, ValueError):
                said = (logs / f"{number}.log").read_text(encoding="utf-8", errors="replace")
                return {"failed": f"its Python {ended.words} {last_error(said)}".strip()}
    return {"launches": found}


def _fork(request: CaptureRequest, number: int, folder: Path, logs: Path) -> ConfinedFork:
    def body() -> None:
        private_folders(folder)
        found = read_launches(request)
        (folder / f"{number}.json").write_text(found.model_dump_json(), encoding="utf-8")

    return ConfinedFork(
        body,
        folder=folder,
        log=logs / f"{number}.log",
        bounds=Bounds(wall_s=CALL_S),
        read=python_folders(),
    )


if __name__ == "__main__":
    main()
