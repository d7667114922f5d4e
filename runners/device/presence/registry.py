"""Processes of ours that use GPUs, so that two servers do not take each other for strangers.

One file a process in a folder that all servers of a user share: its name is the process id, its
content the moment at which the process began, so that an id used again means nothing, and the
process that it belongs to. One whose owner has ended works for nobody: it is a leftover.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

UNKNOWN = ""
"""owner of a process that an earlier version noted"""
ENDS_WITHIN_S = 10.0
"""a killed process of a GPU gives back its memory first"""


def register(folder: Path) -> None:
    """Note the calling process."""
    folder.mkdir(parents=True, exist_ok=True)
    noted = f"{_began(os.getpid())} {_parent(os.getpid())}"
    (folder / str(os.getpid())).write_text(noted, encoding="ascii")


def registered(folder: Path) -> frozenset[int]:
    """Those that live; what the others left is removed."""
    return frozenset(pid for pid, _ in _living(folder))


def end_leftovers(folder: Path) -> tuple[int, ...]:
    """End those whose owner has ended, which no longer hear from anybody; the ids of those that are
    gone when this returns."""
    alone = [pid for pid, owner in _living(folder) if owner not in (UNKNOWN, _parent(pid))]
    return tuple(pid for pid in sorted(alone) if _ended(folder, pid))


def _living(folder: Path) -> Iterator[tuple[int, str]]:
    """Ids of those that live, and their owners' as they were noted; what the others left goes."""
    for file in folder.glob("[0-9]*"):
        pid = int(file.name)
        try:
            noted = file.read_text(encoding="ascii")
        except FileNotFoundError:
            continue
        began, _, owner = noted.partition(" ")
        if began and began == _began(pid):
            yield pid, owner
        else:
            file.unlink(missing_ok=True)


def _ended(folder: Path, pid: int) -> bool:
    """Kill a noted process and wait for its end. The handle is of the very process: an id that was
    given to another since then is none of ours."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if pid not in registered(folder):
                return False
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            return bool(select.select([handle], [], [], ENDS_WITHIN_S)[0])
        finally:
            os.close(handle)
    return False


def _began(pid: int) -> str:
    """When a process began, in ticks since boot; empty when there is none."""
    return _stat(pid, 19)


def _parent(pid: int) -> str:
    """The id of a process's parent; empty when there is none."""
    return _stat(pid, 1)


def _stat(pid: int, field: int) -> str:
    """A field of `/proc/PID/stat` behind the name, the state being the first (proc(5)); empty for
    one that has ended, though nobody may have waited for it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    fields = stat.rpartition(b")")[2].split()
    return "" if fields[0] in (b"Z", b"X") else fields[field].decode()
