"""What a thread waits for a core is read from the scheduler."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.native.waiting import Waiting, held_up_ns, waited_ns, waiting

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


TIMES = st.integers(1, 10**7)


@given(TIMES, st.integers(1, 16), st.integers(2, 8))
def test_a_team_larger_than_its_cores_waits_for_itself(
    elapsed: int, cores: int, threads_a_core: int
) -> None:
    ready = threads_a_core * cores * elapsed
    worked = cores * elapsed
    assert held_up_ns(ready - worked, worked, elapsed, cores) == 0


@given(TIMES, st.integers(1, 16), st.integers(1, 8), st.floats(0, 1))
def test_what_others_took_of_its_cores_is_what_held_it_up(
    elapsed: int, cores: int, threads_a_core: int, share: float
) -> None:
    taken = int(share * elapsed)
    worked = cores * elapsed - taken
    waited = threads_a_core * cores * elapsed - worked
    assert held_up_ns(waited, worked, elapsed, cores) == taken


@given(TIMES, TIMES)
def test_who_leaves_cores_idle_was_held_up_as_long_as_it_waited(elapsed: int, waited: int) -> None:
    assert held_up_ns(min(waited, elapsed), elapsed - min(waited, elapsed), elapsed, 2) == min(
        waited, elapsed
    )
