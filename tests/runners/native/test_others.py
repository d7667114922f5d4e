"""What other programs had of the cores is told apart from what this one and its children did."""

from __future__ import annotations

import math
import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.native.others import OthersWatch, had_by_others, own_seconds

ALLOWED = frozenset(os.sched_getaffinity(0))
WORK = "import time\nwhile time.process_time() < 0.3: pass"
SECONDS = st.floats(0.001, 10)


@given(SECONDS, st.integers(1, 64), st.floats(0, 1), st.floats(0, 1))
def test_what_nobody_idled_and_we_did_not_do_was_others(
    elapsed: float, cores: int, idle: float, ours: float
) -> None:
    whole = elapsed * cores
    own = (1 - idle) * ours * whole
    others = had_by_others(elapsed, cores, idle * whole, own)
    assert math.isclose(others, (1 - idle) * (1 - ours) * whole, abs_tol=1e-9 * whole)


def test_what_a_child_worked_is_ours_once_it_was_waited_for() -> None:
    before = own_seconds()
    subprocess.run([sys.executable, "-c", WORK], check=True)
    assert own_seconds() - before > 0.29


def test_a_while_has_no_more_core_time_than_its_cores_give() -> None:
    watch = OthersWatch.watch(ALLOWED, lambda: 0.0)
    busy = subprocess.run([sys.executable, "-c", WORK], check=True)
    had = watch.until_now()
    assert busy.returncode == 0
    assert had.seconds > 0.29
    # each core's idle time is told in ticks of 10 ms
    assert had.others_s <= len(ALLOWED) * (had.seconds + 0.01) - 0.29


def test_children_that_run_still_are_not_others() -> None:
    told = iter([1.0, 1000.0])
    assert OthersWatch.watch(ALLOWED, lambda: next(told)).until_now().others_s < -900


def test_cores_of_which_nothing_is_known_say_nothing() -> None:
    assert OthersWatch.watch(frozenset({10**6}), lambda: 0.0).until_now() == (0.0, 0.0)
