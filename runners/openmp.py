"""The variables that tell an OpenMP library how to run: a user's own hold while code is timed.

How a team of threads waits, and how many there are, decides what parallel code costs. So a timed
process gets what one of the user's would have, but for how long a team spins where nobody says how
it waits (`WAITING` in `native/executor.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

VARIABLES = frozenset(
    (
        *("OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_NESTED"),
        *("OMP_MAX_ACTIVE_LEVELS", "OMP_SCHEDULE", "OMP_STACKSIZE", "OMP_WAIT_POLICY"),
        *("OMP_PROC_BIND", "OMP_PLACES"),
        *("GOMP_SPINCOUNT", "GOMP_STACKSIZE", "GOMP_CPU_AFFINITY"),
        *("KMP_BLOCKTIME", "KMP_AFFINITY", "KMP_LIBRARY", "KMP_HW_SUBSET"),
    )
)
"""of the OpenMP standard, of GCC's library and of LLVM's. Those that name a library to load, as
OMP_TOOL_LIBRARIES, are none of them: a kernel's process loads its own code alone."""


def of_this_process(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Those that are set here, by name: what a program that is started here would have."""
    return {name: environment[name] for name in sorted(VARIABLES & environment.keys())}


def told(environment: Mapping[str, str]) -> str:
    """`OMP_NUM_THREADS=4 OMP_PLACES=cores`, for people; `none set` without any."""
    return " ".join(f"{name}={value}" for name, value in sorted(environment.items())) or "none set"
