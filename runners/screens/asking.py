"""Names by which host code asks for the time, or who runs it: no kernel needs an answer.

A screen refuses the names, and an executor the answers. A contract that allows one gets both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CLOCKS = (
    r"clock|clock_gettime|gettimeofday|time|ftime|times|getrusage",
    r"(steady|system|high_resolution|file|utc|tai|gps)_clock",
    r"timespec_getres|timespec_get|clock_getres|omp_get_wti(me|ck)",
    r"_*rdtscp?|__builtin_ia32_rdtscp?|_*rdpmc",
)
PLACES = (r"uname|gethost(name|id)|getdomainname|sysinfo",)
PEOPLE = (
    r"getpp?id|gettid|getlogin(_r)?|getpw\w+|pthread_getname_np",
    r"program_invocation(_short)?_name|__progname(_full)?|_(_libc|dl)_arg[cv]",
)


def wants_answers(names: Iterable[str]) -> bool:
    """Whether one of these names asks for something of that kind."""
    every = (*CLOCKS, *PLACES, *PEOPLE)
    return any(re.fullmatch(pattern, name) for name in names for pattern in every)
