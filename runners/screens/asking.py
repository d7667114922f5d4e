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
    r"ntp_(get|adj)timex?|(clock_)?adjtimex?|timer(fd)?_[gs]ettime|timer(fd)?_create",
    r"[gs]etitimer|u?alarm|(clock|pthread)_getcpuclockid",
    r"_*rdtscp?|__builtin_ia32_rdtscp?|_*rdpmc",
)
PLACES = (r"uname|gethost(name|id)|getdomainname|sysinfo|getloadavg|get_avphys_pages",)
PEOPLE = (
    r"getpp?id|gettid|getlogin(_r)?|getpw\w+|pthread_getname_np",
    r"program_invocation(_short)?_name|__progname(_full)?|_(_libc|dl)_arg[cv]",
    r"dladdr1?|dlinfo|_dl_find_object",
)
FILES = (
    r"[fl]?stat(64|at|at64)?|statx|stat(v)?fs(64)?|fstat(v)?fs(64)?|futimens|utimensat",
    r"(eu|eui)?d?access|faccessat|readlink(at)?|realpath|canonicalize_file_name|getcwd",
    r"ustat|[lf]?utimes?|futimesat|name_to_handle_at|f?pathconf|scandirat(64)?|[fl]?xstat(at)?",
    r"opendir|fdopendir|readdir(64)?|scandir(64)?|n?ftw(64)?|fts_open|glob(64)?|filesystem",
)
"""Which files there are tells one machine from another, and when they were used is a clock."""
_OTHER = re.compile(r"_{0,2}(?:libc_|GI_)?(?P<name>\w+?)(?:64|_nocancel|_chk|_r|_2)*")


def plain_name(name: str) -> str:
    """A function of the C library by the name that people know: `__open64_nocancel` is `open`."""
    found = _OTHER.fullmatch(name)
    return name if found is None else found["name"]


def wants_answers(names: Iterable[str]) -> bool:
    """Whether one of these names asks for something of that kind."""
    every = (*CLOCKS, *PLACES, *PEOPLE, *FILES)
    return any(re.fullmatch(pattern, name) for name in names for pattern in every)
