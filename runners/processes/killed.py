"""Compilers and builds that somebody else ended: no word against what they were to build."""

from __future__ import annotations

import re
import signal

KILLED = "was killed from outside, or by the system because memory ran out (see dmesg)"
AGAIN = "try again; if it happens again, fewer programs beside it leave it more memory"
_OUTSIDE = {
    signal.SIGHUP: "Hangup",
    signal.SIGINT: "Interrupt",
    signal.SIGQUIT: "Quit",
    signal.SIGKILL: "Killed",
    signal.SIGTERM: "Terminated",
}
"""Signals that nothing of ours ends itself by, and what g++ calls them"""
_PROGRAM = re.compile(
    rf"(?m)^\S+: fatal error: (?:(?:{'|'.join(_OUTSIDE.values())}) signal terminated program"
    rf"|\w+ terminated with signal (?:{'|'.join(str(int(number)) for number in _OUTSIDE)})\b)"
)
_TRACEBACK = "Traceback (most recent call last):"


def was_killed(returncode: int) -> bool:
    """Whether somebody else ended it. Negative return codes are signals."""
    return -returncode in _OUTSIDE


def compiler_killed(returncode: int, stderr: str) -> bool:
    """Whether somebody else ended a compiler, or a program that it had started."""
    return was_killed(returncode) or (returncode != 0 and bool(_PROGRAM.search(stderr)))


def last_error(stderr: str) -> str:
    """What a Python process said last: the error of its last traceback, without the calls that led
    to it, or its last line."""
    _, traceback, behind = stderr.rpartition(_TRACEBACK)
    lines = [line for line in (behind if traceback else stderr).splitlines() if line.strip()]
    if not traceback:
        return lines[-1].strip() if lines else ""
    return next((line for line in lines if not line.startswith(" ")), "")
