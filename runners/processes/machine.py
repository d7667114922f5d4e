"""How much memory this machine has for us, from which the limits of children are taken.

A limit that is larger than the machine is none: without swap the system then kills processes of
its own choice. What candidates make us run gets a share each, and offers itself to the system to
be killed first (`launch.be_killed_first`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

_CGROUPS = (
    "/sys/fs/cgroup/memory.max",  # what a container sees of its own group
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)
LEAST_BYTES = 1 << 30
"""of a share: below it no compiler does its work"""


@cache
def memory_bytes() -> int:
    """Bytes of memory that this process and its children can have: the machine's or a container's.

    From sysconf(3), and the limit of the control group where one is set.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUPS:
        with suppress(OSError, ValueError):  # not there, or "max"
            limits.append(int(Path(path).read_text(encoding="ascii")))
    return min(limits)


def memory_share(most: int, parts: int = 4) -> int:
    """One part in so many of the memory, but at most `most` bytes, and at least LEAST_BYTES."""
    return max(LEAST_BYTES, min(most, memory_bytes() // parts))
