"""One executor process (`executor.cpp`) as its runner sees it: start, go, done, stop.

Between its turns an executor is stopped (SIGSTOP), so that nothing a variant leaves running
can disturb the next one, or finish work after it said that it was done.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from ..plans.plan import LaunchPlan
from ..processes.crashes import crash_of, explain, explain_abort
from ..processes.filter_blocks import OwnCalls
from ..processes.process import describe_returncode
from ..processes.process_table import is_stopped, thread_count
from ..processes.seccomp import has_seccomp
from ..protocol.shared_arena import SharedArena
from .cores import pin
from .setup_message import MEMORY_BYTES, setup_message
from .waiting import Spent, held_up_ns, waited_ns, waiting

PRINTED = 500
"""characters that are told of what a lost process printed, the last ones"""
PRINTED_BYTES = 2000
"""that are kept of what one call printed, the first ones"""
STARTED = struct.Struct("<cQ")
"""the first word of a process, with the address of its `executor_call_made`"""
START_S = 20.0
END = 2**64 - 1
"""behind the last call of a run, `kEnd` of executor.cpp"""
NAME = "kernelwright-executor"
LOOK_S = 0.1
"""Between two looks at a run that takes longer: a short one is never looked at."""
MOST_THREADS = 4096
"""Of one variant. No limit of the system binds root, and 32768 use up all process numbers."""
CPUCLOCK_SCHED = 2
"""of a process: how long its threads have run, as the scheduler counts (linux/posix-timers.h)"""
STOPPING_NS = 20_000
"""that a thread may run from its process' word until it stands still: to say it, to wait for the
next one and to be stopped takes 5 to 10 us"""
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""Of every executor, beside its user's own (`openmp.py`)."""
WAITING = {"GOMP_SPINCOUNT": "3000"}
"""Where nobody says how a team waits: long enough to spin from one parallel loop to the next, as it
does at its user's, and asleep before its process is stopped. GCC's own count (milliseconds) makes
a stopped team's next sample several times as slow, or not, on a machine of two cores; asleep at
once (`passive`), a kernel of ten short loops takes several times as long as at its user's. Calls
that are repeated without a stop between them are timed with GCC's own: a team of threads that are
not equally fast would fall asleep at the end of each loop."""

FaultKind = Literal["load_failed", "crashed", "exited", "timed_out", "lost"]
"""`lost`: by somebody else's hand, which says nothing of the variant."""


@dataclass(frozen=True, slots=True)
class Fault:
    """How an executor was lost, in words."""

    kind: FaultKind
    detail: str
    said: str = ""
    """what the code itself chose: `RunResult.said`"""
    printed: str = ""
    """`RunResult.printed`"""


class ExecutorLost(Exception):
    """The executor ended or was killed; `fault` says how. Handled inside the runner."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.detail)
        self.fault = fault


def late_ns(passed: int, worked: int, threads: int) -> int:
    """What counts of the time from a process' word until it stood still: as long as its threads
    ran more than they need to stop, as a thousand are not stopped at once, and one could go on.

    `passed`: that time; `worked`: how long its threads ran in it, together; all nanoseconds.
    `threads`: how many of them can run at once.
    """
    return max(0, min(passed, worked - threads * STOPPING_NS))


class Executor:
    """A running executor that works in an arena's `memory`, on `cores` where some are given.

    Raises ExecutorLost from every method that talks to the process.
    """

    def __init__(
        self,
        binary: Path,
        module: Path,
        plan: LaunchPlan,
        shared: SharedArena,
        cores: frozenset[int] = frozenset(),
        environment: Mapping[str, str] = MappingProxyType({}),
        answers: bool = False,
        shortly: bool = True,
    ) -> None:
        """`answers`: the variant may ask for the time, and who runs it. `shortly`: a team waits as
        `WAITING` says where nobody says it otherwise."""
        self.shared, self._answers = shared, answers
        self._output = os.memfd_create(
            "printed"
        )  # needs no room on a disk, and leaves nothing there
        self._told = self._outside_ns = 0
        self._cores = len(cores or os.sched_getaffinity(0))
        asked = {"OMP_WAIT_POLICY", *WAITING} & environment.keys()
        waiting = WAITING if shortly and not asked else {}
        self._start(binary, module, plan, cores, {**waiting, **environment, **ENVIRONMENT})

    def run(self, sets: Sequence[int], timeout_s: float) -> int:
        """Call the plan on these sets, one after the other; nanoseconds from go to done.

        The clock starts before the process is woken: with its values before it, it could work
        until the runner has its core back. What it does after its word counts as well.
        """
        due = [self.shared.layout.span(index)[0] for index in sets]
        message = struct.pack(f"<{len(due) + 1}Q", *due, END)
        with waiting("thread-self") as own, waiting(self._pid) as first:
            before = own.ns()
            started = time.perf_counter_ns()
            os.kill(self._pid, signal.SIGCONT)
            self._write(message)
            answered = self._poll.poll(min(timeout_s, LOOK_S) * 1000) or self._watch(timeout_s)
            ended, worked = time.perf_counter_ns(), self._worked_ns()
            self._outside_ns -= own.ns() - before
            outside = first.ns()
            if not answered:
                raise self._lost(self._late(f"it did not return within {timeout_s:g} s"))
            self._expect(b"D")
            self._pause()
            self._outside_ns += first.ns() - outside
        passed, worked = time.perf_counter_ns() - ended, self._worked_ns() - worked
        threads = thread_count(self._pid) if worked > STOPPING_NS else 1
        return ended - started + late_ns(passed, worked, min(threads, os.cpu_count() or 1))

    @property
    def pid(self) -> int:
        """Of the process that runs the variant."""
        return self._pid

    def spent(self) -> Spent:
        """What its threads have waited and worked so far."""
        return Spent(self._waited_ns(), self._worked_ns())

    def held_up(self, since: Spent, elapsed: int) -> float:
        """By how much of the `elapsed` nanoseconds of runs others can have held it up; relative."""
        now = self.spent()
        waited, worked = now.waited_ns - since.waited_ns, now.worked_ns - since.worked_ns
        return held_up_ns(waited, worked, elapsed, self._cores) / elapsed

    @property
    def crowded(self) -> bool:
        """Whether it has more threads than cores, which wait for each other."""
        return thread_count(self._pid) > self._cores

    def worked_s(self) -> float:
        """Seconds that its threads have run since it began, together."""
        return self._worked_ns() * 1e-9

    def _waited_ns(self) -> int:
        """Nanoseconds that its threads have waited for a core since they began, and the runner
        while it held the clock of a run: its word comes as late as the runner gets a core.

        Without what its first thread waited until it stood still, when the clock had ended.
        """
        return waited_ns(self._pid) - self._outside_ns

    def _worked_ns(self) -> int:
        """Nanoseconds that its threads have run since they began; 0 once it has ended."""
        with suppress(OSError):
            return time.clock_gettime_ns(~self._pid << 3 | CPUCLOCK_SCHED)
        return 0

    def output(self) -> str:
        """The beginning of what the variant printed."""
        return self._read(0)

    def printed(self) -> str:
        """The beginning of what the variant printed since this was last asked."""
        text, self._told = self._read(self._told), self._printed_bytes()
        return text

    def _read(self, begin: int) -> str:
        if self._output < 0:
            return ""
        return os.pread(self._output, PRINTED_BYTES, begin).decode(errors="replace")

    def _printed_bytes(self) -> int:
        return os.fstat(self._output).st_size if self._output >= 0 else 0

    def close(self) -> None:
        """Kill the process; may be called again. The arena stays with its owner."""
        if self._popen.poll() is None:
            os.killpg(self._pid, signal.SIGKILL)
        self._popen.wait()
        for fd in (self._go, self._done, self._output):
            if fd >= 0:
                os.close(fd)
        self._go = self._done = self._output = -1

    def _start(
        self,
        binary: Path,
        module: Path,
        plan: LaunchPlan,
        cores: frozenset[int],
        environment: Mapping[str, str],
    ) -> None:
        go_read, self._go = os.pipe2(os.O_CLOEXEC)
        self._done, done_write = os.pipe2(os.O_CLOEXEC)
        passed = (go_read, done_write, self.shared.fd)
        self._popen = subprocess.Popen(
            [NAME, *map(str, passed), str(os.getpid())],
            executable=binary,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            env=environment,
            cwd="/",
            start_new_session=True,
            pass_fds=passed,
        )
        self._pid = self._popen.pid
        pin(self._pid, cores)
        os.close(go_read)
        os.close(done_write)
        self._poll = select.poll()
        self._poll.register(self._done, select.POLLIN)
        self._await_start()
        own = OwnCalls(go_read, done_write, self._started_at())
        layout = self.shared.layout
        self._write(setup_message(plan, layout, module, self._pid, own, self._answers, environment))
        self._await_start()
        self._expect(b"R")
        self._pause()

    def _await_start(self) -> None:
        if not self._watch(START_S):
            raise self._lost(self._late(f"loading it took over {START_S:g} s"))

    def _started_at(self) -> int:
        """Behind which instruction the process makes its own system calls, from its first word."""
        said = os.read(self._done, STARTED.size)
        if len(said) != STARTED.size:
            raise self._lost(None)
        return STARTED.unpack(said)[1]

    def _watch(self, timeout_s: float) -> bool:
        """Wait for a word of the process and look after it meanwhile; False: it was silent."""
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            if self._poll.poll(min(left, LOOK_S) * 1000):
                return True
            if thread_count(self._pid) > MOST_THREADS:
                raise self._lost(Fault("crashed", f"it started more than {MOST_THREADS} threads"))
        return False

    def _late(self, words: str) -> Fault:
        """Why nothing was heard of it: a process that stands still was stopped by somebody else.

        The filter of system calls lets it not stop itself.
        """
        if is_stopped(self._pid) and has_seccomp():
            return Fault("lost", "the kernel's process was stopped from outside (SIGSTOP)")
        return Fault("timed_out", words)

    def _expect(self, wanted: bytes) -> None:
        said = os.read(self._done, 4096)
        if said == wanted:
            return
        if crash := crash_of(said):
            raise self._lost(None, *explain(crash, self.shared.layout))
        if said.startswith(b"E"):
            text = said[1:].decode(errors="replace")
            raise self._lost(Fault("load_failed", f"the shared object does not load: {text}"))
        if said:
            raise self._lost(Fault("crashed", "it wrote to the runner's signal itself"))
        raise self._lost(None)

    def _write(self, message: bytes) -> None:
        try:
            os.write(self._go, message)
        except BrokenPipeError:
            raise self._lost(None) from None

    def _pause(self) -> None:
        """Stop the process and wait until it stands still."""
        os.kill(self._pid, signal.SIGSTOP)
        seen = os.waitid(os.P_PID, self._pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if seen is None or seen.si_code != os.CLD_STOPPED:
            raise self._lost(None)
        os.waitid(os.P_PID, self._pid, os.WSTOPPED)

    def _lost(self, fault: Fault | None, cause: str = "", said: str = "") -> ExecutorLost:
        """End the process and say how it was lost; None: by itself, look at its status."""
        printed, last = self.output().strip(), self.printed()
        if fault is None:
            fault = self._ended(cause, printed)
        spoken = [part for part in (said, fault.said) if part]
        if printed:
            spoken.append(f"it printed: {printed[-PRINTED:]}")
        fault = Fault(fault.kind, fault.detail, "; ".join(spoken), last)
        self.close()
        return ExecutorLost(fault)

    def _ended(self, cause: str, printed: str) -> Fault:
        """The fault of a process that ended, or closed its end of the runner's signal."""
        try:
            code = self._popen.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            return Fault("crashed", "it closed the runner's signal")
        by_itself = code >= 0
        words = f"the kernel's process ended{'' if by_itself else f': {describe_returncode(code)}'}"
        if code == -signal.SIGKILL and has_seccomp():  # the filter lets it not do that to itself
            return Fault(
                "lost", f"{words}, from outside, or by the system because memory ran out (dmesg)"
            )
        if code == -signal.SIGABRT:
            cause = explain_abort(printed, MEMORY_BYTES)
        if by_itself:
            cause = "a kernel returns, it must not end its process"
        if cause:
            words += f" ({cause})"
        if by_itself:
            return Fault("exited", words, describe_returncode(code))
        return Fault("crashed", words)
