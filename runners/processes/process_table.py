"""The process table: who is beneath whom, who stands still, and killing what a look at it names.

Of the standard library alone, as `launch.py`, which loads it in the new process of every child.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple


class ProcessRow(NamedTuple):
    """One line of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    state: str


ProcessTable = dict[int, ProcessRow]


def process_table() -> ProcessTable:
    """All processes in /proc by pid; those that end while we read are left out."""
    rows = (_row(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {row.pid: row for row in rows if row is not None}


def table_beneath(pid: int) -> ProcessTable:
    """The rows of all that is beneath `pid`, at no cost for everybody else's processes.

    While children end, the kernel may leave others out: for counting, not for killing. All
    processes where the kernel keeps no lists of children.
    """
    if not LISTS_CHILDREN:
        return process_table()
    table, waiting = ProcessTable(), [pid]
    while waiting:
        rows = (_row(child) for child in children_of(waiting.pop()) if child not in table)
        fresh = {row.pid: row for row in rows if row is not None}
        table.update(fresh)
        waiting += fresh
    return table


def child_rows(pid: int) -> list[ProcessRow]:
    """The children of a process, ended ones too that nobody waited for; some are left out while
    others end, see `table_beneath`."""
    if not LISTS_CHILDREN:
        return [row for row in process_table().values() if row.parent == pid]
    rows = map(_row, children_of(pid))
    return [row for row in rows if row is not None and row.parent == pid]


def children_of(pid: int) -> set[int]:
    """The children of a process, where LISTS_CHILDREN; ended ones too that nobody waited for."""
    found = set[int]()
    with suppress(FileNotFoundError, ProcessLookupError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    found.update(map(int, file.read().split()))
    return found


LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")
"""whether this kernel keeps lists of children (CONFIG_PROC_CHILDREN)"""


def _row(pid: int) -> ProcessRow | None:
    """The row of a process; None when it is gone."""
    try:
        # the command, in parentheses, may itself hold blanks and parentheses
        fields = read_short(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    parent, group, session = (int(field) for field in fields[1:4])
    return ProcessRow(pid, parent, group, session, fields[0].decode())


def read_short(path: str) -> bytes:
    """A short file of /proc, in one call: there are hundreds to read."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, 4096)
    finally:
        os.close(fd)


def descendants(pid: int, table: ProcessTable) -> set[int]:
    """The pids beneath `pid` in the process table, without `pid`."""
    children: dict[int, list[int]] = {}
    for row in table.values():
        children.setdefault(row.parent, []).append(row.pid)
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        fresh = [child for child in children.get(waiting.pop(), []) if child not in found]
        found.update(fresh)
        waiting += fresh
    return found


def is_stopped(pid: int) -> bool:
    """Whether a process stands still after SIGSTOP."""
    row = _row(pid)
    return row is not None and row.state == "T"


def stands_still(pid: int) -> bool:
    """Whether a process or anything beneath it was stopped by SIGSTOP."""
    return any(map(is_stopped, {pid} | descendants(pid, process_table())))


def thread_count(pid: int) -> int:
    """The threads of a process; 0 when it is gone."""
    try:
        return int(read_short(f"/proc/{pid}/stat").rpartition(b")")[2].split()[17])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def alive(pids: Collection[int], table: ProcessTable) -> set[int]:
    """Those of `pids` that still run (a zombie does not)."""
    return {pid for pid in pids if pid in table and table[pid].state not in "ZX"}


def kill_all(
    victims: Callable[[ProcessTable], Collection[int]], patience_s: float = 5.0
) -> set[int]:
    """SIGKILL whatever `victims` names in the process table until it names nothing that runs.

    Returns the pids that still run after `patience_s`: in a system call that cannot be
    interrupted, or multiplying faster than they can be killed.
    """
    deadline = time.monotonic() + patience_s
    while running := alive(victims(table := process_table()), table):
        for pid in running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return running
        time.sleep(0.001)
    return set()
