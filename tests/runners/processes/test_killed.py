"""What somebody else ended is told as that, in one clear sentence."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from kernelwright.runners.errors import ProcessLost
from kernelwright.runners.native import executor_binary
from kernelwright.runners.processes.killed import compiler_killed, last_error


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_compiler_that_a_signal_from_outside_ended_was_killed(number: signal.Signals) -> None:
    assert compiler_killed(-number, "")


@pytest.mark.parametrize(
    "said",
    [
        "g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.",
        "g++: fatal error: Terminated signal terminated program cc1plus",
        "collect2: fatal error: ld terminated with signal 9 [Killed]",
    ],
)
def test_a_compiler_whose_program_was_killed_was_killed(said: str) -> None:
    assert compiler_killed(1, said)
    assert not compiler_killed(0, said)


@pytest.mark.parametrize(
    ("returncode", "said"),
    [
        (1, "a.cpp:3:1: error: expected ';'"),
        (-signal.SIGSEGV, ""),
        (1, "g++: fatal error: Segmentation fault signal terminated program cc1plus"),
        (1, "collect2: fatal error: ld terminated with signal 11 [Segmentation fault]"),
    ],
)
def test_a_compiler_that_failed_on_its_own_account_was_not_killed(
    returncode: int, said: str
) -> None:
    assert not compiler_killed(returncode, said)


def test_an_executor_whose_compiler_was_killed_is_no_missing_toolchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], -signal.SIGKILL, "", "")

    monkeypatch.setattr(executor_binary.subprocess, "run", killed)
    with pytest.raises(ProcessLost, match="compiler of the executor was killed from outside"):
        executor_binary.compile_executor(tmp_path)


def test_of_tracebacks_the_last_error_is_told() -> None:
    said = """\
loading
Traceback (most recent call last):
  File "a.py", line 1, in f
    g()
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 2, in f
    g()
    ~^^
ValueError: second
"""
    assert last_error(said) == "ValueError: second"
    assert last_error("one\ntwo\n\n") == "two"
    assert last_error("") == ""
