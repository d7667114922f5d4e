"""A search is stepped by one session at a time, whichever process that is in.

Each session has the whole graph in memory and writes what a step changed of it: of two at the same
time, each would write over the edges of the other.

Held is a lock on a file of the state folder. The system lets it go with the process, however that
ends; the file stays, as whoever removed it could remove it from under the next holder.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import sys
import weakref
from pathlib import Path
from typing import Final

from ...runners.errors import SearchBusy

LOCKS: Final = "locks"
"""the folder of the files, in the state folder"""
MOST_NAMED: Final = 120
"""characters of a holder's command that are told"""


class SearchLock:
    """One session's hold on its search; it ends with the session at the latest."""

    def __init__(self, outdir: Path, search_id: str) -> None:
        self._path, self._search_id = outdir / LOCKS / search_id, search_id
        self._release: weakref.finalize[[int], SearchLock] | None = None

    def take(self) -> None:
        """Hold the search from now on, also if it is held here already. Raises SearchBusy."""
        if self._release is not None and self._release.alive:
            return
        self._path.parent.mkdir(exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, _this_process(), 0)
        except BlockingIOError:
            holder = os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")
            os.close(file)
            raise _busy(self._search_id, holder) from None
        except BaseException:
            os.close(file)
            raise
        self._release = weakref.finalize(self, os.close, file)

    def release(self) -> None:
        """Let others have it; may be called again."""
        if self._release is not None:
            self._release()


def _this_process() -> bytes:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return f"process {os.getpid()} ({command[:MOST_NAMED]})".encode(errors="replace")


def _busy(search_id: str, holder: str) -> SearchBusy:
    return SearchBusy(
        f"the search {search_id} is under way in {holder or 'another process'}",
        valid="one process at a time steps a search",
        next_step="wait until that one has ended, or end it, and call again: what it found is "
        "kept. Another search of the kernel can run beside it",
    )
