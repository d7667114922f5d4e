"""A process whose children have a PID namespace of their own: nothing beneath it outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from kernelwright.runners.processes.process import has_pid_namespaces

PATIENCE_MS = 20_000
SEPARATED = """
import os, subprocess, sys, time
from kernelwright.runners.processes.launch import enter_child, pid_namespace_flags, separate
write = int(sys.argv[1])
separate(os.getppid(), pid_namespace_flags())
me, child = os.getpid(), os.fork()
if child == 0:
    enter_child(me)
    subprocess.Popen(["sleep", "1000"], pass_fds=[write])  # tied to nobody
    os.write(write, b"started")
    {then}
os.close(write)
os.waitpid(child, 0)
{after}
"""

pytestmark = pytest.mark.skipif(not has_pid_namespaces(), reason="no PID namespaces here")


def separated(then: str, after: str = "") -> tuple[subprocess.Popen[bytes], int]:
    """A separated process with a grandchild that holds the write end of the pipe."""
    read, write = os.pipe()
    script = SEPARATED.format(then=then, after=after)
    process = subprocess.Popen([sys.executable, "-c", script, str(write)], pass_fds=[write])
    os.close(write)
    assert hears(read) == b"started"
    return process, read


def hears(read: int) -> bytes:
    """What comes next; empty when nobody holds the write end any more."""
    poll = select.poll()
    poll.register(read, select.POLLIN)
    assert poll.poll(PATIENCE_MS), "a process that should have died still runs"
    return os.read(read, 100)


def test_what_its_children_started_dies_with_it_when_it_is_killed() -> None:
    process, read = separated("time.sleep(1000)")
    process.send_signal(signal.SIGKILL)
    assert hears(read) == b""
    assert process.wait() == -signal.SIGKILL
    os.close(read)


def test_what_its_children_left_behind_dies_when_it_ends() -> None:
    process, read = separated("os._exit(0)", "sys.exit(7)")
    assert hears(read) == b""
    assert process.wait() == 7
    os.close(read)
