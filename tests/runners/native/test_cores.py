"""Timed host code and the clock keep apart, and teams of threads keep their cores."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from kernelwright.runners.native.cores import (
    Cores,
    CoreWatch,
    choose,
    core_seconds,
    drawn,
    may_start_threads,
    pin,
)

SERIAL = '#include <cmath>\nextern "C" double f(double x) { return std::sin(x); }\n'
TEAM = '#include <thread>\nextern "C" void f() { std::thread([] {}).join(); }\n'
OPENMP = """extern "C" void f(int* x) {
#pragma omp parallel for
    for (int i = 0; i < 8; i++) x[i] = i;
}
"""


def test_the_idlest_core_works_and_the_next_waits() -> None:
    cores = choose(frozenset({0, 1, 2, 5}), {0: 0.3, 1: 0.9, 2: 0.1, 5: 0.7, 7: 1.0})
    assert cores == Cores(frozenset({5}), frozenset({1}), frozenset({0, 1, 2}))
    assert cores.of(threaded=False) == {1}
    assert cores.of(threaded=True) == {0, 1, 2}


def test_on_two_cores_a_team_gets_both_and_single_threads_one() -> None:
    cores = choose(frozenset({2, 3}), {2: 0.9, 3: 0.8})
    assert (cores.runner, cores.single, cores.team) == ({3}, {2}, {2, 3})


def test_on_a_busy_machine_nobody_is_pinned_to_wait() -> None:
    every = frozenset({0, 1, 2})
    assert choose(every, dict.fromkeys(every, 0.4)) == Cores(every, every, every)


def test_on_one_core_the_system_decides() -> None:
    assert choose(frozenset({4}), {4: 1.0}) == Cores()


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("cores", [{4}, {2, 3}, {0, 1, 2, 5}])
def test_a_check_has_cores_that_blocks_have_too(cores: set[int], threaded: bool) -> None:
    allowed, rng = frozenset(cores), random.Random(5)
    orders = [{c: 1 - rank / 9 for rank, c in enumerate(o)} for o in permutations(cores)]
    idle = [dict.fromkeys(cores, 0.1), *orders]
    of_blocks = {choose(allowed, each).of(threaded) or allowed for each in idle}
    found = {drawn(allowed, threaded, rng) for _ in range(200)}
    assert found <= of_blocks
    assert len(cores) == 1 or (threaded and len(cores) == 2) or len(found) > 2


@pytest.mark.parametrize(
    ("source", "flags", "threads"),
    [(SERIAL, (), False), (TEAM, (), True), (OPENMP, ("-fopenmp",), True), (OPENMP, (), False)],
    ids=["serial", "std::thread", "OpenMP", "OpenMP left out"],
)
def test_code_that_may_start_threads_is_told_by_what_it_imports(
    source: str, flags: tuple[str, ...], threads: bool, tmp_path: Path
) -> None:
    (tmp_path / "f.cpp").write_text(source, encoding="utf-8")
    built = tmp_path / "f.so"
    command = ["g++", "-O2", "-shared", "-fPIC", *flags, "-o", str(built), str(tmp_path / "f.cpp")]
    subprocess.run(command, check=True)
    assert may_start_threads(built) is threads


def test_a_pinned_process_stays_where_it_was_put() -> None:
    (core, *_) = os.sched_getaffinity(0)
    told = "import os, sys; sys.stdin.read(); print(*os.sched_getaffinity(0))"
    child = subprocess.Popen(
        [sys.executable, "-c", told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pin(child.pid, frozenset({core}))
    assert child.communicate("")[0].split() == [str(core)]
    pin(child.pid, frozenset({core}))  # it has ended: nothing to do


def test_a_watch_moves_its_own_process_to_the_waiting_core() -> None:
    before = os.sched_getaffinity(0)
    try:
        cores = CoreWatch().next_block()
        assert os.sched_getaffinity(0) == (cores.runner or before)
        assert cores.single <= before
        assert cores.single in (cores.runner, before - cores.runner) or len(before) > 2
    finally:
        os.sched_setaffinity(0, before)


def test_idle_time_is_known_of_every_core_that_we_may_use() -> None:
    found = core_seconds()
    assert os.sched_getaffinity(0) <= found.keys()
    assert all(0 <= idle <= total for idle, total in found.values())
