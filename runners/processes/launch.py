"""What a child does between its start and its program.

`start.py` runs `main` in the new process. It ties the child to its parent, sets its limits and
becomes the program (exec), or stays beside it as its *supervisor*, so that whatever the program
starts dies with it. Doing this in a program of its own, and not in a `preexec_fn`, is what makes
it safe to start children from a server with many threads. It imports the standard library and
`process_table.py` alone and starts in about 15 ms.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from .process_table import descendants, kill_all

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
WORKER_SCORE, CANDIDATE_SCORE = 500, 1000
"""for the out-of-memory killer, -1000 to 1000: one thousandth of the machine's memory each"""
OUTSIDE = 0
"""what getppid(2) says of a parent that lives and is not in the PID namespace of its child"""

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument; raises OSError."""
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def enter_child(parent_pid: int) -> None:
    """Tie this process to its parent: what every child of ours does first.

    The child dies (SIGKILL) when the *thread* that started it ends, ignores SIGINT (Ctrl-C at a
    terminal is the server's to handle), can gain no privileges, and adopts its orphaned
    descendants, so that they can be found beneath it. Exits if the parent is already gone.
    """
    _die_with_parent(parent_pid, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def adopts_orphans() -> bool:
    """Whether what is orphaned beneath this process comes to it; see `enter_child`."""
    adopts = ctypes.c_int()
    told = _libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(adopts), 0, 0, 0)
    return told == 0 and adopts.value != 0


def _die_with_parent(parent_pid: int, death_signal: int) -> None:
    prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() not in (parent_pid, OUTSIDE):
        os._exit(1)


def be_killed_first(score: int) -> None:
    """Let the system take this process and its children before others when memory runs out."""
    with suppress(OSError):  # a sandbox without /proc: then it takes the largest
        _write("/proc/self/oom_score_adj", str(score))


def pid_namespace_flags() -> int:
    """The unshare(2) flags that give this process a new PID namespace; 0 if nothing does.

    A trial in a forked child, because unshare cannot be undone.
    """
    for flags in (CLONE_NEWPID, CLONE_NEWUSER | CLONE_NEWPID):
        pid = os.fork()
        if pid == 0:
            with suppress(OSError):
                _unshare(flags)
                os._exit(0)
            os._exit(1)
        if os.waitpid(pid, 0)[1] == 0:
            return flags
    return 0


def _unshare(flags: int) -> None:
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")
    if flags & CLONE_NEWUSER:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1")):
            _write(f"/proc/self/{name}", text)
        _write("/proc/self/gid_map", f"{gid} {gid} 1")


def separate(parent_pid: int, flags: int) -> int | None:
    """Give the children that this process will have a PID namespace that ends with it; the pid of
    its first process, to which orphans come.

    The kernel kills all that is in a namespace when its first process dies, and that one dies
    with us, even when we are killed: no grandchild stays. `flags` are those of
    `pid_namespace_flags`; with 0 nothing is done. We ourselves stay where we are, with one thread
    from now on (the kernel makes no second one), and `parent_pid` is our parent still.
    """
    if not flags:
        return None
    _unshare(flags)
    _die_with_parent(parent_pid, signal.SIGKILL)  # changed credentials may have undone it

    def first_process() -> NoReturn:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans come here: nobody waits for them
        os.closerange(3, max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 4096))
        while True:
            signal.pause()

    return _fork_first(first_process)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def set_limits(limits: dict[str, int]) -> None:
    """Set limits by the names of the `resource` module, as far as those in force allow it."""
    for name, value in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def become(argv: list[str], limits: dict[str, int]) -> NoReturn:
    """Set the limits and exec `argv`; exits with 127 and a line on stderr if that fails.

    SIGXFSZ stays ignored (Python ignores it), so that a write past RLIMIT_FSIZE fails with EFBIG.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        set_limits(limits)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _fork(program: Callable[[], NoReturn]) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        program()
    finally:
        os._exit(1)


def _fork_first(program: Callable[[], NoReturn]) -> int:
    """Fork the first process of our new PID namespace, which dies with us once this returns.

    It cannot see who its parent is from in there, so it tells us that it is tied before we go on:
    if we died before that, nobody is left to read it, and it ends.
    """
    tied_read, tied_write = os.pipe()

    def tied() -> NoReturn:
        os.close(tied_read)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.write(tied_write, b"t")
        os.close(tied_write)
        program()

    pid = _fork(tied)
    os.close(tied_write)
    os.read(tied_read, 1)
    os.close(tied_read)
    return pid


def supervise(argv: list[str], limits: dict[str, int]) -> NoReturn:
    """Run `argv` beneath this process, then end as it ended, leaving nothing of it behind.

    With a PID namespace the kernel kills everything in it as soon as its first process dies, and
    that one dies with us. Without one we are told of our parent's death by SIGTERM and kill what
    is beneath us ourselves; killing *us* with SIGKILL then spares the program's own background
    children until our nearest living ancestor sweeps them up.
    """
    flags = pid_namespace_flags()
    if flags:
        _unshare(flags)
        status = _run_in_namespace(argv, limits)
    else:
        status = _run_beneath(argv, limits)
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number = os.WTERMSIG(status)
        with suppress(OSError):  # SIGKILL has no handler to reset
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _run_in_namespace(argv: list[str], limits: dict[str, int]) -> int:
    status_read, status_write = os.pipe()

    def first_process() -> NoReturn:
        program = _fork(lambda: become(argv, limits))
        pid, status = os.waitpid(-1, 0)
        while pid != program:  # orphans of the namespace come to its first process
            pid, status = os.waitpid(-1, 0)
        os.write(status_write, str(status).encode())
        os._exit(0)

    pid = _fork_first(first_process)
    os.close(status_write)
    told = os.read(status_read, 16)
    ended = os.waitpid(pid, 0)[1]
    return int(told) if told else ended


def _run_beneath(argv: list[str], limits: dict[str, int]) -> int:
    me = os.getpid()
    wanted = {signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    parent = os.getppid()
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)

    def program_process() -> NoReturn:
        _die_with_parent(me, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, wanted)
        become(argv, limits)

    program = _fork(program_process)
    status: int | None = None
    while status is None and signal.sigwait(wanted) == signal.SIGCHLD:
        status = _reap(program)
    kill_all(lambda table: descendants(me, table))
    return signal.SIGTERM if status is None else status


def _reap(program: int) -> int | None:
    """Collect every ended child; the wait status of `program` if it is among them."""
    found: int | None = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == program:
                found = ended[1]
    return found


def main() -> NoReturn:
    """The argument: `probe`, or JSON with argv, parent, limits and supervised."""
    if sys.argv[1] == "probe":
        flags = pid_namespace_flags()
        print({0: "", CLONE_NEWPID: "as root"}.get(flags, "through a user namespace"))
        sys.exit(0)
    spec = json.loads(sys.argv[1])
    enter_child(spec["parent"])
    be_killed_first(CANDIDATE_SCORE if spec["supervised"] else WORKER_SCORE)
    if spec["supervised"]:
        supervise(spec["argv"], spec["limits"])
    become(spec["argv"], spec["limits"])
