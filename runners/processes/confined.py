"""Running a function in a confined fork: how untrusted Python and tools for its output are run.

Only a process with one thread may do this: it forks without executing a program, so that what
the parent has imported is there at once.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import stat
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ..errors import ProcessLost
from . import launch
from .child import describe_returncode
from .killed import AGAIN, KILLED
from .killing import kill_left_of, kill_tree, starting, waited_for
from .machine import memory_share
from .process_table import ProcessTable, descendants, stands_still, table_beneath
from .sandbox import builder_filter, drop_capabilities, install_seccomp, landlock
from .seccomp import has_seccomp

SYSTEM = tuple(
    Path(p)
    for p in (
        *("/usr", "/lib", "/lib64", "/bin", "/proc/self", "/proc/cpuinfo", "/proc/meminfo"),
        *("/sys/devices/system", "/dev/urandom", "/dev/zero", "/etc/ld.so.cache"),
        *("/etc/localtime", "/etc/os-release", "/etc/passwd", "/etc/nsswitch.conf"),
    )
)
"""what a program needs of the system to start at all; nothing of a person's"""
PROGRAMS = tuple(
    Path(p)
    for p in (
        *("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache"),
        *("/proc/cpuinfo", "/sys/devices/system", "/dev/urandom"),
    )
)
"""what a compiler needs of it, whose messages quote what it has read: nothing of this machine's
users, or of a process"""
NULL = Path("/dev/null")
LOOK_S = 0.1
"""between two looks at the number of its processes and the size of its folder"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a confined fork may use."""

    wall_s: float
    memory_bytes: int = memory_share(16 << 30, 2)
    """address space of each process, beside what the fork starts with"""
    file_bytes: int = 256 << 20
    folder_bytes: int = 1 << 30
    """of all files in its folder together"""
    processes: int = 64
    """threads not counted"""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a confined fork ended."""

    returncode: int
    """negative: the signal"""
    seconds: float
    over: str = ""
    """the bound for which it was killed, in words"""
    timed_out: bool = False
    lost: str = ""
    """what somebody else did to it, in words: then its end says nothing of what ran in it"""

    @property
    def words(self) -> str:
        """For people: `killed by SIGSEGV`, `it did not end within 5 s`."""
        return self.over or describe_returncode(self.returncode)


def python_folders() -> list[Path]:
    """What a Python process with our packages reads: the installation, and `runners` itself."""
    places = {Path(p) for p in (sys.prefix, sys.base_prefix, *filter(None, sys.path))}
    own = Path(__file__).resolve().parents[1]
    return [*sorted(p for p in places if p != Path("/")), own]


class ConfinedFork:
    """A fork that runs `body` with `folder` as working and only writable folder.

    It reads `read` and `system`, which is what a program needs to start, has no network, no
    capabilities and no descriptor of ours; stdout and stderr go to the file `log`. Its status is
    0 when `body` returns, 1 when it raises, with the traceback in the log.
    """

    def __init__(
        self,
        body: Callable[[], None],
        *,
        folder: Path,
        log: Path,
        bounds: Bounds,
        read: Sequence[Path] = (),
        system: Sequence[Path] = SYSTEM,
    ) -> None:
        self.started = time.monotonic()
        self._bounds, self._folder = bounds, folder
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        with starting() as own:
            self._pid = os.fork()
            if self._pid == 0:
                _run(parent, body, folder, log, bounds, [*system, *read])
            own.add(self._pid)
        self._pidfd = os.pidfd_open(self._pid)
        self.ended: Ended | None = None

    def fileno(self) -> int:
        """Readable once it has ended: for poll(2)."""
        return self._pidfd

    def check(self, table: ProcessTable | None = None) -> Ended | None:
        """How it ended, None while it runs; beyond a bound it is killed.

        `table`: of all beneath us now; without one its bounds are not looked at.
        """
        if self.ended is None:
            if _is_readable(self._pidfd):
                self._finish("", timed_out=False)
            elif table is not None and (over := self._over(table)):
                self._finish(over, timed_out=time.monotonic() - self.started > self._bounds.wall_s)
        return self.ended

    def wait(self) -> Ended:
        """Wait until it has ended or gone beyond a bound; as `run_all`."""
        return run_all([lambda: self])[0]

    def _over(self, table: ProcessTable) -> str:
        bounds = self._bounds
        if time.monotonic() - self.started > bounds.wall_s:
            return f"it did not end within {bounds.wall_s:g} s"
        beneath = descendants(self._pid, table)
        if len(beneath) > bounds.processes:
            return f"it started more than {bounds.processes} processes"
        if folder_bytes(self._folder) > bounds.folder_bytes:
            return f"it wrote more than {bounds.folder_bytes >> 20} MiB"
        return ""

    def _finish(self, over: str, *, timed_out: bool) -> None:
        seconds = time.monotonic() - self.started
        code = -signal.SIGKILL if over else _status(self._pid)
        lost = ""
        if timed_out and stands_still(self._pid):
            lost = "was stopped from outside (SIGSTOP)"
        elif code == -signal.SIGKILL and not over and has_seccomp():  # it cannot do so itself
            lost = KILLED
        if over:
            kill_tree(self._pid)
        else:
            kill_left_of(self._pid)
        waited_for(self._pid)
        os.close(self._pidfd)
        self.ended = Ended(code, seconds, over, timed_out, lost)


def run_all(starts: Sequence[Callable[[], ConfinedFork]], at_once: int = 0) -> list[Ended]:
    """Start forks, `at_once` side by side (0: as many as we have cores); how each ended, in order.

    Each is killed when it goes beyond a bound, and nothing of any of them runs afterwards.
    Raises ProcessLost when somebody else killed or stopped one.
    """
    at_once = at_once or len(os.sched_getaffinity(0))
    forks, looked = list[ConfinedFork](), time.monotonic()
    while len(forks) < len(starts) or any(fork.ended is None for fork in forks):
        table = None
        if time.monotonic() - looked >= LOOK_S:
            table, looked = table_beneath(os.getpid()), time.monotonic()
        running = [fork for fork in forks if fork.check(table) is None]
        if len(forks) < len(starts) and len(running) < at_once:
            forks.append(starts[len(forks)]())
        elif running:
            poll = select.poll()
            for fork in running:
                poll.register(fork, select.POLLIN)
            poll.poll(LOOK_S * 1000)
    ends = [fork.ended for fork in forks if fork.ended is not None]
    for ended in ends:
        if ended.lost:
            raise ProcessLost(f"a process of the build {ended.lost}", next_step=AGAIN)
    return ends


def read_left(path: Path, limit: int) -> bytes:
    """A file that a confined fork left behind, once nothing of it runs any more.

    Raises ValueError for one that is missing, no regular file, or of more than `limit` bytes.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from error
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            raise ValueError(f"{path.name} is no file of at most {limit >> 20} MiB")
        return file.read(limit)


def folder_bytes(folder: Path) -> int:
    """Bytes of all files beneath a folder; files that vanish meanwhile do not count."""
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except FileNotFoundError:
            continue
    return total


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _status(pid: int) -> int:
    """The return code of a child that has ended; it stays a zombie, so that its pid stays its."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _run(
    parent: int,
    body: Callable[[], None],
    folder: Path,
    log: Path,
    bounds: Bounds,
    read: Sequence[Path],
) -> NoReturn:
    code = 1
    try:
        launch.enter_child(parent)
        os.setsid()
        os.chdir(folder)
        _redirect(log)
        launch.be_killed_first(launch.CANDIDATE_SCORE)
        _bound(bounds)
        landlock(read, [folder, NULL])
        drop_capabilities()
        if has_seccomp():
            install_seccomp(builder_filter(os.getpid()))
        body()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        leave(code)


def leave(code: int) -> NoReturn:
    """End this fork here and now, whatever becomes of its last words: not one step further."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:  # a full disk takes no words
        os._exit(code)


def _redirect(log: Path) -> None:
    """stdin empty, stdout and stderr into the log; every other descriptor closed."""
    null = os.open(NULL, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    os.closerange(3, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096))


def _bound(bounds: Bounds) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: bounds.file_bytes,
        resource.RLIMIT_AS: _address_space() + bounds.memory_bytes,
        resource.RLIMIT_CPU: int(bounds.wall_s) * (os.cpu_count() or 1) + 1,
    }
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def _address_space() -> int:
    """Bytes that this process has reserved; large libraries reserve many gigabytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
