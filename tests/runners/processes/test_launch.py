"""A process whose children have a PID namespace of their own: nothing beneath it outlives it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from kernelwright.runners.processes.process import has_pid_namespaces
from kernelwright.runners.processes.process_table import descendants, process_table

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
LATE = """
import os, sys
from kernelwright.runners.processes import launch
write, go = map(int, sys.argv[1:])
tie = launch.prctl
def late(*arguments):
    if os.getpid() == 1:
        os.write(write, b"late")
        os.read(go, 1)
    tie(*arguments)
launch.prctl = late
launch.{start}
os.read(go, 1)
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


@pytest.mark.parametrize(
    "start",
    ["separate(os.getppid(), launch.pid_namespace_flags())", "supervise(['sleep', '1000'], {})"],
)
def test_a_namespace_ends_though_its_owner_was_killed_before_the_two_were_tied(start: str) -> None:
    (read, write), (go_read, go_write) = os.pipe(), os.pipe()
    script = [sys.executable, "-c", LATE.format(start=start), str(write), str(go_read)]
    process = subprocess.Popen(script, pass_fds=[write, go_read])
    os.close(write)
    os.close(go_read)
    assert hears(read) == b"late"
    (first,) = descendants(process.pid, process_table())
    ended = os.pidfd_open(first)
    process.kill()
    process.wait()
    os.close(go_write)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    died = poll.poll(PATIENCE_MS)
    if not died:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
    assert died, "the first process of the namespace still runs"
    os.close(ended)
    os.close(read)
