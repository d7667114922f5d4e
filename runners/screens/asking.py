"""Names by which host code asks for the time, who runs it, or beside what: no kernel needs it.

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
FILES = (
    r"[fl]?stat(64|at|at64)?|statx|stat(v)?fs(64)?|fstat(v)?fs(64)?|futimens|utimensat",
    r"(eu|eui)?d?access|faccessat|readlink(at)?|realpath|canonicalize_file_name|getcwd",
    r"opendir|fdopendir|readdir(64)?|scandir(64)?|n?ftw(64)?|fts_open|glob(64)?|filesystem",
)
"""Which files there are tells one machine from another, and when they were used is a clock."""


def wants_answers(names: Iterable[str]) -> bool:
    """Whether one of these names asks for something of that kind."""
    every = (*CLOCKS, *PLACES, *PEOPLE, *FILES)
    return any(re.fullmatch(pattern, name) for name in names for pattern in every)
