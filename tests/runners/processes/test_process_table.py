"""Who is beneath a process."""

from __future__ import annotations

import os
import subprocess
import threading

import pytest

from kernelwright.runners.processes.process_table import (
    LISTS_CHILDREN,
    children_of,
    descendants,
    process_table,
    table_beneath,
)


def test_the_table_beneath_a_process_holds_its_descendants_and_nobody_else() -> None:
    shell = "sleep 1000 & sleep 1000 & echo ready; wait"
    with subprocess.Popen(["sh", "-c", shell], stdout=subprocess.PIPE, process_group=0) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            beneath, every = table_beneath(process.pid), process_table()
            assert len(descendants(process.pid, every)) == 2
            assert beneath.keys() == descendants(process.pid, every)
            assert all(beneath[pid].parent == every[pid].parent == process.pid for pid in beneath)
        finally:
            os.killpg(process.pid, 9)


@pytest.mark.skipif(not LISTS_CHILDREN, reason="this kernel keeps no lists of children")
def test_children_of_every_thread_are_children_of_the_process() -> None:
    found = list[int]()
    started, done = threading.Event(), threading.Event()

    def thread() -> None:
        with subprocess.Popen(["sleep", "1000"]) as process:
            found.append(process.pid)
            started.set()
            done.wait()
            process.kill()

    other = threading.Thread(target=thread)
    other.start()
    started.wait()
    children = children_of(os.getpid())
    done.set()
    other.join()
    assert set(found) <= children
    assert not set(found) & children_of(os.getpid())


def test_a_process_that_is_gone_has_no_children() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert children_of(process.pid) == set()
