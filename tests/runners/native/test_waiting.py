"""What a thread waits for a core is read from the scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from kernelwright.runners.native.waiting import Waiting, waited_ns, waiting

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self/schedstat"), reason="the kernel keeps no such statistics"
)


@pytest.fixture
def crowded() -> Iterator[int]:
    """Another process that wants the one core that this one may use: its number."""
    before, core = os.sched_getaffinity(0), min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield busy.pid
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, before)


def test_who_shares_a_core_waits_for_it(crowded: int) -> None:
    with waiting("thread-self") as own:
        began, worked = own.ns(), time.thread_time_ns()
        while own.ns() == began:  # ends where another one gets the core meanwhile
            assert time.thread_time_ns() - worked < 5e9, "it never had to wait"
        assert waited_ns(crowded) > 0


def test_a_thread_that_is_gone_waits_no_longer() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    asked = Waiting(gone.pid)
    gone.wait()
    assert (asked.ns(), waited_ns(gone.pid)) == (0, 0)
    asked.close()
    assert asked.ns() == 0
