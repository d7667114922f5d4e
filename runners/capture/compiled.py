"""Triton's cache of compiled kernels, which the captures of one build share.

Captures run side by side, and shapes often ask for the same specialisation: one of them compiles
it, the others wait for what it leaves. Of a compilation only what somebody reads is written.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from ..whole_files import write_whole
from .libraries import load

UNREAD = (".source", ".ttir", ".ttgir")
"""Modules of MLIR, which become text to be written: 8 % of a compilation, to be read by nobody."""


class Turn:
    """The right to compile one kernel, against other processes: a lock on its folder in the cache.

    A process that waits for one holds no other, so that no two wait for each other; the end of a
    process gives back what it held.
    """

    def __init__(self) -> None:
        self._path = ""
        self._file: IO[bytes] | None = None

    def take(self, path: str) -> None:
        """Wait until no other process compiles what this file stands for."""
        if path == self._path:
            return
        self.give_back()
        file = open(path, "ab")
        fcntl.flock(file, fcntl.LOCK_EX)
        self._path, self._file = path, file

    def give_back(self) -> None:
        """Let others have what this process holds, if anything."""
        if self._file is not None:
            self._file.close()
        self._path, self._file = "", None


def install() -> None:
    """Change Triton's cache in this process, for good."""
    manager: Any = load("triton.runtime.cache").FileCacheManager
    look: Callable[[Any, str], dict[str, str] | None] = manager.get_group
    end: Callable[[Any, str, dict[str, str]], str] = manager.put_group
    turn = Turn()

    def get_group(cache: Any, filename: str) -> dict[str, str] | None:
        found = look(cache, filename)
        if found is None:
            turn.take(cache.lock_path)
            found = look(cache, filename)
            if found is not None:
                turn.give_back()
        return found

    def put_group(cache: Any, filename: str, group: dict[str, str]) -> str:
        path = end(cache, filename, group)
        turn.give_back()
        return path

    manager.get_group, manager.put_group, manager.put = get_group, put_group, _put


def _put(cache: Any, data: Any, filename: str, binary: bool = True) -> str:
    """A file of a compilation; empty for UNREAD, and without a folder of its own on the way."""
    path: str = cache._make_path(filename)
    text = "" if filename.endswith(UNREAD) else data
    write_whole(Path(path), text if isinstance(text, bytes) else str(text))
    return path
