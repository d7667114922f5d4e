"""How long threads stood ready and had no core, as the scheduler counts it.

The second field of `schedstat` in /proc (Documentation/scheduler/sched-stats.rst of Linux);
everything is 0 where the kernel keeps none.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..processes.process_table import read_short


def waited_ns(pid: int) -> int:
    """Nanoseconds that the threads of a process have waited for a core since they began."""
    total = 0
    with suppress(OSError):  # the process has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):  # a thread that has just ended
                total += int(read_short(f"/proc/{pid}/task/{thread}/schedstat").split()[1])
    return total


class Spent(NamedTuple):
    """Nanoseconds of all threads of a process together, since it began."""

    waited_ns: int
    worked_ns: int


def held_up_ns(waited: int, worked: int, elapsed: int, cores: int) -> int:
    """Of what a process' threads waited for a core, what others can have caused; all nanoseconds.

    `waited`, `worked`: of all its threads together, `elapsed`: on the clock, `cores`: that it may
    use. What the cores did in that time and it did not get is all that others can have had. A team
    of more threads than cores waits for itself, as it does wherever it runs, and is as slow there.
    """
    return max(0, min(waited, cores * elapsed - worked))


class Waiting:
    """The same of one thread; one system call each time it is asked, beside a clock that runs."""

    def __init__(self, thread: int | str) -> None:
        """`thread`: its process' number, for the first one; `thread-self`: who makes this."""
        self._fd = -1
        with suppress(OSError):
            self._fd = os.open(f"/proc/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)

    def ns(self) -> int:
        """Since the thread began; 0 once it has ended."""
        with suppress(OSError):
            return int(os.pread(self._fd, 64, 0).split()[1]) if self._fd >= 0 else 0
        return 0

    def close(self) -> None:
        """Ask no more."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


@contextmanager
def waiting(thread: int | str) -> Generator[Waiting]:
    """What a thread waits, asked for a while."""
    asked = Waiting(thread)
    try:
        yield asked
    finally:
        asked.close()
