"""PTX for reading, made in a process of its own that stays: a compilation takes a tenth of a
second, and the start of what compiles several times as much.

Messages in: `{"source", "entry", "defines", "host"}`, `host` for a function of host C++, which is
read as device code of one thread; messages out: `{"ptx", "entry"}`, or `{"failed"}` with the
reason. That process must keep its one thread, as it forks for each compilation.
"""

from __future__ import annotations

import atexit
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from ..errors import KernelwrightError, ProcessLost
from ..forking.starting import start_python
from ..processes.channel import Channel
from ..processes.killed import last_error
from ..processes.process import Child, Limits, clean_environment
from ..toolchains.compilers import nvrtc
from ..toolchains.compilers.plain_host import plain_host_ptx
from ..toolchains.compilers.plain_ptx import plain_ptx

PATIENCE_S = 90.0
"""beyond which a compilation, which has a limit of its own, is given up"""
KEPT = 256


@lru_cache(maxsize=KEPT)
def compiled_plainly(
    source: str, entry: str, defines: tuple[tuple[str, int | float | str], ...], host: bool = False
) -> tuple[str, str] | str:
    """(PTX, name of the entry in it) of a kernel by its C++ name, or why there is none. For any
    thread; kept by what was asked. `host`: whether it is a function of host C++."""
    if nvrtc.library() is None:
        return "NVRTC, by which kernels are read, is not installed"
    return _COMPILER.compile(source, entry, dict(defines), host=host)


class _Compiler:
    """The process, started when it is first asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def compile(
        self, source: str, entry: str, defines: Mapping[str, int | float | str], *, host: bool
    ) -> tuple[str, str] | str:
        """One compilation at a time; a process that was lost is started anew at the next one."""
        with self._lock:
            try:
                channel = self._running().channel
                asked = {"source": source, "entry": entry, "defines": defines, "host": host}
                channel.send(asked, timeout=10.0)
                answer, _ = channel.receive(timeout=PATIENCE_S)
            except (KernelwrightError, OSError) as error:  # TimeoutError is an OSError
                said = "" if self._child is None else last_error(self._child.stderr_text())
                self._end()
                return f"the process that compiles for reading was lost: {said or error}"
        if "failed" in answer:
            return str(answer["failed"])
        return str(answer["ptx"]), str(answer["entry"])

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
                "kernelwright.runners.building.plain_compiler",
                name="plain_compiler",
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


_COMPILER = _Compiler()
atexit.register(_COMPILER.close)


def main() -> None:
    """Compile what is asked for until the channel closes."""
    channel = Channel.from_fd(int(sys.argv[1]))
    try:
        nvrtc.preload()
    except Exception:  # a broken installation is told by the compilation that meets it
        traceback.print_exc()
    try:
        while True:
            message, _ = channel.receive()
            channel.send(_answer(message))
    except ProcessLost:
        pass  # whoever asked is gone


def _answer(message: Mapping[str, object]) -> dict[str, str]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        try:
            defines = cast("dict[str, int | float | str]", message["defines"])
            source, entry = str(message["source"]), str(message["entry"])
            compile_it = plain_host_ptx if message["host"] else plain_ptx
            made = compile_it(source, entry, Path(folder), defines=defines)
        except KernelwrightError as error:
            return {"failed": str(error)}
    if isinstance(made, tuple):
        return {"ptx": made[0], "entry": made[1]}
    return {"failed": made.message}


if __name__ == "__main__":
    main()
