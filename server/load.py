"""How much the machine is asked for by others: what shares a core is timed too long."""

from __future__ import annotations

import os

BUSY_LOAD = 0.5
"""programs a core, from which on timing has to wait for quiet moments"""


def load_told() -> tuple[bool, str]:
    """Whether the machine is quiet enough to time host code, and the load in words."""
    usable, wanting = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    told = f"{wanting:.1f} programs wanted one of {usable} cores, on average of the last minute"
    if wanting <= BUSY_LOAD * usable:
        return True, f"{told}: quiet enough to time host code"
    return False, f"{told}: times are surer, and come sooner, once others have ended"
