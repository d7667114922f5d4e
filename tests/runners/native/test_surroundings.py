"""What a host variant finds around its call: neither its neighbours, nor what is to come, nor us.

Kernels here end their process where they find what they should not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import lift
import pytest

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import cache_folder
from kernelwright.runners.native.executor_binary import compile_executor
from kernelwright.runners.native.process import NativeRunner
from kernelwright.runners.processes.seccomp import has_seccomp
from kernelwright.runners.protocol.layout import arena
from kernelwright.runners.protocol.messages import (
    Block,
    Check,
    Load,
    Placement,
    Pool,
    SideTimes,
)
from kernelwright.runners.protocol.shared_arena import SharedArena

SLOTS, SIZE = 12, 1001
HEAD = """
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
"""
BEHIND = "volatile float behind = x[n + 3]; (void)behind;"
BEFORE = "volatile float before = y[-1]; (void)before;"
RAN = ""
needs_seccomp = pytest.mark.skipif(not has_seccomp(), reason="the system takes no filters")


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], NativeRunner]]:
    """A runner that knows the variant `v` of a source, and a pool of it."""
    place, cores = tmp_path_factory.mktemp("surroundings"), os.sched_getaffinity(0)
    builder = Builder(place / "modules", place / "scratch")
    wanted = lift.build_request(place, 1)
    shape = wanted.shapes[0].model_copy(update={"symbols": {"n": SIZE}})
    fd = os.memfd_create("values")
    os.ftruncate(fd, SLOTS * 4096)
    runner = NativeRunner(compile_executor(place, cache_folder(place)))
    contract = wanted.kernel.spec.io
    pool = Pool(pool="p", contract=contract, symbols={"n": SIZE}, label="usual", slots=SLOTS)
    runner.pool(pool, fd)

    def loaded(body: str) -> NativeRunner:
        variant = wanted.variant.model_copy(update={"source": f"{HEAD}{body}\n}}\n"})
        outcome = builder.build(wanted.model_copy(update={"shapes": (shape,), "variant": variant}))
        assert outcome.artifact is not None, outcome.message
        modules = {m.sha256: str(builder.module_path(m)) for m in outcome.artifact.modules}
        runner.unload("v")
        runner.load(
            Load(variant="v", modules=modules, plans=tuple(outcome.artifact.plans.values()))
        )
        return runner

    yield loaded
    runner.rest()
    builder.close()
    os.close(fd)
    os.sched_setaffinity(0, cores)


def checked(runner: NativeRunner, placement: Placement = "pages") -> str:
    """The fault of two checked runs; empty: they came back."""
    message = Check(
        variant="v",
        pool="p",
        slots=(1, 2),
        poisons=(0xFFFF, 0xA5),
        placement=placement,
        timeout_s=5.0,
    )
    results, fd = runner.check(message)
    os.close(fd)
    assert not any(result.overrun for result in results)
    return next((result.fault for result in results if result.fault), "")


def timed(runner: NativeRunner, calls: int) -> SideTimes:
    message = Block(pool="p", rounds=(("v",),), calls={"v": calls}, poison=0xA5, timeout_s=5.0)
    (side,), fd = runner.block(message)
    os.close(fd)
    return side


@pytest.mark.parametrize(
    ("body", "placement", "words"),
    [
        (BEHIND, "end", "(it touched memory behind the end of `x`, where there is none)"),
        (BEFORE, "start", "(it touched memory before the start of `y`, where there is none)"),
    ],
)
def test_what_lies_beside_a_flush_buffer_cannot_be_read_and_the_crash_says_which(
    body: str, placement: Placement, words: str, load: Callable[[str], NativeRunner]
) -> None:
    runner = load(body)
    assert checked(runner) == "" and checked(runner, "barely") == ""
    assert words in checked(runner, placement)


@pytest.mark.parametrize("placement", get_args(Placement))
def test_code_that_keeps_to_its_arrays_runs_wherever_they_lie(
    placement: Placement, load: Callable[[str], NativeRunner]
) -> None:
    assert checked(load(RAN), placement) == ""


def test_nothing_in_its_process_says_where_a_call_that_is_not_due_would_work(
    load: Callable[[str], NativeRunner],
) -> None:
    runner = load(RAN)
    pool = runner._pools["p"]  # pyright: ignore[reportPrivateUsage]
    shared = SharedArena(arena(pool.contract, 6, scattered=3))
    executor = runner._executor("v", pool, shared, frozenset())  # pyright: ignore[reportPrivateUsage]
    executor.run((2,), 5.0)
    layout, memory, start = shared.layout, bytearray(), 0
    pid = executor._pid  # pyright: ignore[reportPrivateUsage]
    with open(f"/proc/{pid}/mem", "rb") as file:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="ascii").splitlines():
            span, rights, offset, *_ = line.split()
            low, high = (int(each, 16) for each in span.split("-"))
            if "memfd:arena" in line:
                start = low if int(offset, 16) == 0 else start
            elif (rights.startswith("rw") and "stack" in line) or "heap" in line:
                file.seek(low)
                memory += file.read(high - low)
    words = {int.from_bytes(memory[at : at + 8], "little") for at in range(0, len(memory), 8)}
    sets = {index: layout.span(index)[0] for index in range(layout.sets)}
    places = {i: {base + start + slot.offset for slot in layout.slots} for i, base in sets.items()}
    executor.close()
    assert words & places[2], "of the call that was made something is left"
    assert not [i for i in sets if i != 2 and (words & places[i] or (sets[i] and sets[i] in words))]


AHEAD = """
    for (int fd = 3; fd < 64; ++fd) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) continue;
        std::uint64_t word = 0;
        if (read(fd, &word, sizeof word) >= 0 || errno != EPERM) __builtin_trap();
        int waiting = 0;
        if (ioctl(fd, FIONREAD, &waiting) == 0) __builtin_trap();
    }
"""


@needs_seccomp
def test_which_call_comes_next_cannot_be_read_ahead_nor_counted(
    load: Callable[[str], NativeRunner],
) -> None:
    side = timed(load(AHEAD), 6)
    assert side.fault == ""


POLLED = """
    for (int fd = 3; fd < 64; ++fd) {
        const int flags = fcntl(fd, F_GETFL);
        if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY) continue;
        pollfd asked{fd, POLLIN, 0};
        if (poll(&asked, 1, 0) != 1) __builtin_trap();
    }
"""


def test_the_last_call_of_a_sample_is_like_the_others(load: Callable[[str], NativeRunner]) -> None:
    runner = load(POLLED)
    assert timed(runner, 4).fault == "" and timed(runner, 1).fault == ""


TOLD = {
    "the time of day": "timespec t; if (syscall(SYS_clock_gettime, 0, &t) == 0) __builtin_trap();",
    "when it was written to": (
        "struct stat s; if (write(1, y, 0) < 0 || fstat(1, &s) == 0) __builtin_trap();"
    ),
    "when its calls were": (
        "struct stat s; for (int fd = 3; fd < 64; ++fd) if (fstat(fd, &s) == 0) __builtin_trap();"
    ),
    "when a file was made": 'struct stat s; if (stat("/usr", &s) == 0) __builtin_trap();',
    "when what it opens was made": (
        'int fd = open("/usr/lib", O_RDONLY); struct stat s; '
        "if (fd < 0 || fstat(fd, &s) == 0) __builtin_trap();"
    ),
    "which files there are": 'if (access("/usr/bin", F_OK) == 0) __builtin_trap();',
    "what lies in a folder": (
        'DIR* folder = opendir("/usr"); if (folder && readdir(folder)) __builtin_trap();'
    ),
    "where its file lies": (
        'char at[64]; if (readlink("/proc/self/exe", at, 64) >= 0) __builtin_trap();'
    ),
    "what the machine did": (
        'if (open("/sys/devices/system/node/node0/vmstat", O_RDONLY) >= 0) __builtin_trap();'
    ),
    "how long a wait was": (
        "timespec t{100, 0}; int word = 0; if (nanosleep(&t, nullptr) != 0 || "
        "poll(nullptr, 0, 100000) != 0 || ppoll(nullptr, 0, &t, nullptr) != 0 || "
        "syscall(SYS_futex, &word, 0, 0, &t) == 0 || errno != ETIMEDOUT) __builtin_trap();"
    ),
    "what another core is like": (
        "cpu_set_t all; std::memset(&all, 255, sizeof all); "
        "if (sched_setaffinity(0, sizeof all, &all) == 0) __builtin_trap();"
    ),
    "what lies in its pipe, by another name": (
        "char at[] = \"/proc/self/fd/0\"; for (at[14] = '3'; at[14] <= '9'; ++at[14]) "
        "if (open(at, O_RDONLY | O_NONBLOCK) >= 0) __builtin_trap();"
    ),
    "whether it is past": (
        "const long times[] = {1, 99999999999}; for (long until : times) { timespec t{until, 0}; "
        "if (syscall(SYS_clock_nanosleep, 0, 1, &t, 0) != 0) __builtin_trap(); }"
    ),
    "a wait until then": (
        "timespec t{99999999999, 0}; int word = 0;"
        "if (syscall(SYS_futex, &word, 9, 0, &t, 0, ~0) == 0 || errno != ETIMEDOUT) "
        "__builtin_trap();"
    ),
    "the machine": "utsname u; if (uname(&u) == 0) __builtin_trap();",
    "the parent": "if (getppid() != -1) __builtin_trap();",
    "the name": "char name[16]; if (prctl(PR_GET_NAME, name) == 0) __builtin_trap();",
    "the environment": "if (environ[0]) __builtin_trap();",
    "pages to be put out": (
        "if (madvise(reinterpret_cast<void*>(4096 * (reinterpret_cast<std::uintptr_t>(x) / 4096)),"
        " 4096, MADV_PAGEOUT) == 0 || errno != EPERM) __builtin_trap();"
    ),
}


@needs_seccomp
@pytest.mark.parametrize("what", TOLD)
def test_a_kernel_is_not_told(what: str, load: Callable[[str], NativeRunner]) -> None:
    assert checked(load(TOLD[what])) == ""


ASKED = """
    timespec t;
    utsname u;
    if (clock_gettime(CLOCK_MONOTONIC, &t) || syscall(SYS_clock_gettime, 0, &t) || uname(&u))
        __builtin_trap();
"""


def test_a_contract_that_allows_a_clock_by_name_gets_its_answers(
    load: Callable[[str], NativeRunner],
) -> None:
    runner = load(ASKED)
    pool = runner._pools["p"]  # pyright: ignore[reportPrivateUsage]
    for allowed, answered in ((("steady_clock",), True), (("Ofast",), False)):
        runner._pools["p"] = replace(pool, allowed=allowed)  # pyright: ignore[reportPrivateUsage]
        assert (checked(runner) == "") is (answered or not has_seccomp())
    runner._pools["p"] = pool  # pyright: ignore[reportPrivateUsage]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the clock of x86")
def test_who_reads_the_processors_clock_is_told_so(load: Callable[[str], NativeRunner]) -> None:
    assert "it reads a clock" in checked(load("(void)__builtin_ia32_rdtsc();"))


@pytest.mark.parametrize(
    "asked",
    [
        "timespec t; clock_gettime(CLOCK_MONOTONIC, &t);",
        "timespec t; clock_gettime(CLOCK_MONOTONIC_COARSE, &t);",
        "timespec t; clock_gettime(CLOCK_REALTIME_COARSE, &t);",
        "if (time(nullptr) > 0) y[0] += 1;",
    ],
)
def test_no_clock_is_told_without_the_system_either(
    asked: str, load: Callable[[str], NativeRunner]
) -> None:
    assert "it reads a clock" in checked(load(asked))
