"""`optimize` killed by SIGKILL at random moments and resumed, again and again.

`KERNELWRIGHT_KILLS=20 pytest -s tests/server/test_kills.py` kills more often than the
thorough run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from brief_timing import COMMAND
from kernels import with_known_peaks
from lift import write_spec
from tiers import cases

from kernelwright.runners.model import Evaluation
from kernelwright.store.store import STATE_FILE, Store

pytestmark = pytest.mark.usefixtures("own_builds")  # that are met while they are made
KILLS = int(os.environ.get("KERNELWRIGHT_KILLS", "2"))
"""of the thorough run; the usual one kills once"""
GONE_WITHIN_S = 2.0
PATIENCE_S = 60.0
LOOK_S = 0.005
"""between two looks for a moment: a build takes longer"""
BUILDS_A_KILL = 3


def write_searched(folder: Path, kills: int) -> None:
    """The spec of a search that is long enough to be killed so often, in a folder."""
    most = 2 * BUILDS_A_KILL * kills
    repeats = {round(400 ** (k / (most - 1))) for k in range(most)}
    write_spec(
        folder,
        # each so much faster than the one before that few blocks tell, whoever else is at work
        parameters={"REPEAT": {"values": sorted(repeats, reverse=True)}},
        workloads=[
            {"name": "usual", "symbols": {"n": 2000}},
            {"name": "hidden", "symbols": {"n": 1501}, "held_out": True},
        ],
    )
    with_known_peaks(folder / "out")


def start(folder: Path, kills: int, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "optimize", "--input", str(folder / "lift.json")]
    command += ["--outdir", str(folder / "out"), "--budget-builds", str(BUILDS_A_KILL * kills)]
    command += options
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder
    )


def left_of(folder: Path, ends: float) -> list[psutil.Process]:
    """What still belongs to a folder at the monotonic time `ends`: each is waited for until then.
    A zombie is over."""
    while left := belonging_to(folder):
        if (more := ends - time.monotonic()) <= 0:
            break
        psutil.wait_procs(left, timeout=more)
    return left


def belonging_to(folder: Path) -> list[psutil.Process]:
    """Every process that has the folder in its command, its environment or as its place."""
    found = list[psutil.Process]()
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values(), process.cwd()]
        except psutil.Error:
            continue
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(process)
    return found


def reported(folder: Path) -> list[str]:
    """The variants whose evaluation somebody was told of, whole lines only."""
    path = folder / "out" / "kernels" / "lift" / "events.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    events = [json.loads(line) for line in lines if line.endswith("\n")]
    return [e["variant_id"] for e in events if e["event"] == "step" and e["variant_id"]]


def evaluations(folder: Path) -> dict[str, list[Evaluation]]:
    """All evaluations on disk, by variant."""
    found = dict[str, list[Evaluation]]()
    with Store.open(folder / "out" / STATE_FILE) as store:
        for key, value in store.items("evaluations"):
            found.setdefault(key.split("/")[0], []).append(Evaluation.model_validate(value))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@cases("kills", [1, KILLS], why="further kills, at other moments of a longer search")
def test_a_killed_search_leaves_nothing_running_and_loses_and_repeats_nothing(
    kills: int, tmp_path: Path
) -> None:
    write_searched(tmp_path, kills)
    rng = random.Random(7)
    for number in range(kills):
        process = start(tmp_path, kills, "--resume")
        assert process.stderr is not None
        for _ in range(rng.randrange(2, 7)):  # a random moment, counted in lines and in time
            if not process.stderr.readline():
                break
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=rng.random() * 0.5)
        process.kill()
        killed = time.monotonic()
        process.wait()
        process.stderr.close()
        left = left_of(tmp_path, killed + GONE_WITHIN_S)
        assert not left, f"kill {number}: still running after {GONE_WITHIN_S} s: {left}"
        took = time.monotonic() - killed
        known = evaluations(tmp_path)
        lost = [v for v in reported(tmp_path) if v not in known]
        assert not lost, f"kill {number}: reported and not on disk: {lost}"
        print(f"kill {number + 1}: nothing left after {took:.2f} s, {len(known)} evaluations kept")
    last = start(tmp_path, kills, "--resume")
    _, told = last.communicate()
    assert last.returncode == 0, told
    known = evaluations(tmp_path)
    for variant_id, made in known.items():
        assert [e.ending.final for e in made[:-1]] == [False] * (len(made) - 1), variant_id
    assert set(reported(tmp_path)) <= set(known)
    assert "confirmed" in (tmp_path / "out/kernels/lift/events.jsonl").read_text(encoding="utf-8")
    print(f"resumed to the end: {len(known)} variants, none measured twice")


def works(process: psutil.Process, moment: str) -> bool:
    """Whether a search is in the middle of a build, or of runs of its kernel."""
    for child in process.children(recursive=True):
        with suppress(psutil.Error):  # compilers come and go
            name, running = child.name(), child.status() == psutil.STATUS_RUNNING
            if name == "cc1plus" if moment == "build" else name == "executor" and running:
                return True
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@cases(
    ("number", "moment"),
    [
        (signal.SIGINT, "build"),
        (signal.SIGTERM, "run"),
        (signal.SIGKILL, "build"),
    ],
    why="further signals: the test above sends SIGKILL at any moment",
)
def test_a_search_that_a_signal_meets_in_the_middle_of_a(
    number: signal.Signals, moment: str, tmp_path: Path
) -> None:
    write_searched(tmp_path, KILLS)
    search = start(tmp_path, KILLS)
    assert search.stderr is not None
    while "[1/" not in search.stderr.readline():  # the first evaluation is on disk
        assert search.poll() is None
    deadline = time.monotonic() + PATIENCE_S
    while not works(psutil.Process(search.pid), moment):
        assert time.monotonic() < deadline, f"never in the middle of a {moment}"
        with suppress(subprocess.TimeoutExpired):
            search.wait(LOOK_S)
    search.send_signal(number)
    signalled = time.monotonic()
    search.communicate(timeout=PATIENCE_S)
    assert search.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert not left_of(tmp_path, signalled + GONE_WITHIN_S)
    known = evaluations(tmp_path)
    assert reported(tmp_path) and set(reported(tmp_path)) <= set(known)
