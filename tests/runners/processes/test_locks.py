"""Whoever times has the device alone, and those who wait come before those who have just had it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.processes import locks
from kernelwright.runners.processes.locks import timing_lock

PATIENCE_S = 20.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(locks, "lock_folder", lambda: tmp_path)
    return tmp_path


def somebody_is_in_the_door(folder: Path) -> bool:
    try:
        FileLock(folder / "host.door").acquire(timeout=0).lock.release()
    except Timeout:
        return True
    return False


def test_who_waits_comes_before_who_has_just_timed(folder: Path) -> None:
    order = list[str]()

    def time_once() -> None:
        with timing_lock("host"):
            order.append("who waits")

    other = threading.Thread(target=time_once)
    with timing_lock("host"):
        other.start()
        ends = time.monotonic() + PATIENCE_S
        while not somebody_is_in_the_door(folder) and time.monotonic() < ends:
            pass
    with timing_lock("host"):
        order.append("who has just timed")
    other.join(PATIENCE_S)
    assert order == ["who waits", "who has just timed"]


def test_a_device_that_is_never_free_is_told_with_who_has_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "ASK_S", 0.0)
    monkeypatch.setattr(locks, "WAIT_S", 0.1)
    told = list[str]()
    with timing_lock("host"), pytest.raises(KernelwrightError, match=r"not free for 0\.1 s; proc"):
        with timing_lock("host", told.append):
            raise AssertionError
    assert len(told) == 1 and told[0].startswith("waiting: process ")
