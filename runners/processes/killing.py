"""Killing a child and all that belongs to it, and collecting what its death leaves to us.

What is killed with a child: its process group and session, everything beneath it in the process
tree (a child of ours adopts its orphans, so daemons stay in its tree while it lives), and any
orphan that came to us and bears the child's mark in its environment. A program that ends by
itself and leaves behind a process of another session with a wiped environment escapes this;
a supervised start closes that gap where PID namespaces are to be had.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .launch import adopts_orphans
from .process_table import (
    LISTS_CHILDREN,
    ProcessTable,
    alive,
    child_rows,
    children_of,
    descendants,
    kill_all,
    process_table,
)

MARK = "KERNELWRIGHT_CHILD"
"""The environment variable that names a child to us when it has lost its place in the tree."""

_own = set[int]()
_adopters = set[int]()
_own_lock = threading.RLock()


@contextmanager
def starting() -> Generator[set[int]]:
    """Hold while a process is started that gets a session of its own, and add its pid: the
    others of this kind that turn up beneath us are orphans, whom nobody else waits for."""
    with _own_lock:
        yield _own


def waited_for(pid: int) -> None:
    """A process that was started so is gone for good: its number may come again."""
    with _own_lock:
        _own.discard(pid)


def has_adopter(pid: int) -> None:
    """Orphans beneath us come to this child of ours, the first process of a PID namespace."""
    with starting() as own:
        own.add(pid)
        _adopters.add(pid)


def reap_orphans() -> None:
    """Collect the exit status of processes that came to us when their parent was killed.

    Who starts a process in our own session, as libraries do, waits for it themselves. One that is
    overlooked is collected the next time.
    """
    me, session = os.getpid(), os.getsid(0)
    with _own_lock:
        for row in child_rows(me):
            ended = row.state == "Z" and row.session != session
            if ended and row.pid not in _own:
                with suppress(ChildProcessError):
                    os.waitpid(row.pid, os.WNOHANG)


def kill_tree(pid: int) -> None:
    """Kill `pid`, its group and session and everything beneath it; reap what is ours."""
    sweep(pid, None)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def kill_left_of(pid: int) -> None:
    """As `kill_tree`, for a child that has ended, whose own children have other parents by now:
    kill its group and session; reap what is ours."""
    if _left_nothing():
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        return
    family = {pid}

    def belonging(table: ProcessTable) -> set[int]:
        family.update(row.pid for row in table.values() if pid in (row.group, row.session))
        return family

    kill_all(belonging)
    for relative in family:
        with suppress(ChildProcessError):
            os.waitpid(relative, os.WNOHANG)


def _left_nothing() -> bool:
    """Whether all our children are known to us, so that none of them is what another one left.

    Nobody is overlooked: what a process leaves has come to us, or to an adopter, before we can
    know of its end; our own list grows shorter only when we wait for a child, and whether
    another's is empty is a single question to the kernel. For a process with one thread.
    """
    if not LISTS_CHILDREN or not (_adopters or adopts_orphans()):
        return False
    with _own_lock:
        unknown = children_of(os.getpid()) - _own
    return not unknown and not any(map(children_of, _adopters))


def sweep(pid: int, mark: str | None) -> None:
    """Kill `pid` and all that belongs to it; `pid` itself is left to be reaped by its owner.

    All are stopped first: no parent dies before we have seen its children beneath it.
    """
    me = os.getpid()
    # What was stopped is killed wherever it is by then: an orphan that had yet to tie itself to its
    # parent would stand still for ever.
    family = _freeze(pid) - {pid}

    def beneath(table: ProcessTable) -> set[int]:
        family.update(descendants(pid, table))
        return family

    def belonging(table: ProcessTable) -> set[int]:
        beneath(table)
        for row in table.values():
            adopted = mark is not None and row.parent == me and _bears(row.pid, mark)
            if pid in (row.pid, row.group, row.session) or adopted:
                family.add(row.pid)
        return family

    kill_all(beneath)
    kill_all(belonging)
    for relative in family - {pid}:
        with suppress(ChildProcessError):
            os.waitpid(relative, os.WNOHANG)


def _freeze(pid: int) -> set[int]:
    """Stop `pid` and everything beneath it; a process with a pending SIGSTOP cannot fork."""
    stopped: set[int] = set()
    while fresh := _running_tree(pid) - stopped:
        for member in fresh:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGSTOP)
        stopped |= fresh
    return stopped


def _running_tree(pid: int) -> set[int]:
    table = process_table()
    return alive({pid} | descendants(pid, table), table)


def _bears(pid: int, mark: str) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    return f"{MARK}={mark}".encode() in environment.split(b"\0")
