"""Tables of system calls and their numbers: what `seccomp.py` makes its programs from."""

from __future__ import annotations

import platform
from typing import Literal

Architecture = Literal["x86_64", "aarch64"]

# name, number on x86_64, number on aarch64 ("-": there is no such call)
COMPUTE = """
    pread64 17 67, preadv 295 69, close 3 57, lseek 8 62, mmap 9 222,
    munmap 11 215, mprotect 10 226, mremap 25 216, brk 12 214,
    sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
    sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
    rt_sigsuspend 130 133, sigaltstack 131 132, exit 60 93,
    exit_group 231 94, restart_syscall 219 128,
    getpid 39 172, gettid 186 178, getuid 102 174,
    geteuid 107 175, getgid 104 176, getegid 108 177, getrlimit 97 163,
    getrandom 318 278, set_robust_list 273 99, set_tid_address 218 96,
    membarrier 324 283, getcpu 309 168, arch_prctl 158 -,
    mbind 237 235, set_mempolicy 238 237
"""
# What tells of files: which there are, and when they were read or written, which is a clock.
LOOKING = """
    stat 4 -, lstat 6 -, statx 332 291, getdents64 217 61, readlink 89 -, readlinkat 267 78,
    access 21 -, faccessat 269 48, faccessat2 439 439
"""
# Clocks, and what tells where and beside whom a process runs: no kernel needs to know.
ASKING = """
    clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153,
    rt_sigtimedwait 128 137, getrusage 98 165, sysinfo 99 179, uname 63 160, getppid 110 173,
    futex_waitv 449 449,
    futex_wake 454 454, futex_wait 455 455, futex_requeue 456 456
"""
CHECKED = """
    read 0 63, write 1 64, futex 202 98, readv 19 65, writev 20 66, madvise 28 233,
    clock_nanosleep 230 115,
    open 2 -, openat 257 56, clone 56 220, clone3 435 435, tgkill 234 131, prlimit64 302 261,
    ioctl 16 29, fcntl 72 25, prctl 157 167, sched_setaffinity 203 122, socket 41 198,
    get_mempolicy 239 236, nanosleep 35 101, poll 7 -, ppoll 271 73, fstat 5 80, newfstatat 262 79,
    seccomp 317 277, rseq 334 293
"""
PYTHON = """
    sendmsg 46 211, recvmsg 47 212, sendto 44 206, recvfrom 45 207, shutdown 48 210,
    getsockopt 55 209, getsockname 51 204, getpeername 52 205, memfd_create 319 279,
    ftruncate 77 46, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59,
    epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
    eventfd2 290 19, select 23 -, pselect6 270 72, pwrite64 18 68, pwritev 296 70,
    getcwd 79 17, statfs 137 43, fstatfs 138 44, fadvise64 221 223, mincore 27 232,
    msync 26 227
"""
# What CUDA's driver does on Linux, after the rules by which snapd confines programs that use it
# (its `opengl` interface): it opens its device files for writing, talks to them by ioctl, and
# listens on a socket of its own for processes that share memory with it. Caches of compiled
# kernels want folders, renaming, locks.
DEVICE = """
    bind 49 200, listen 50 201, accept 43 202, accept4 288 242, socketpair 53 199,
    setsockopt 54 208, mlock 149 228, mlock2 325 284, munlock 150 229, umask 95 166,
    eventfd 284 -, epoll_create 213 -, epoll_pwait2 441 441, fallocate 285 47, flock 73 32,
    fsync 74 82, fdatasync 75 83, getgroups 115 158, getresuid 118 148, getresgid 120 150,
    capget 125 90, getpgid 121 155, getsid 124 156, getpriority 140 141, sched_getattr 315 275
"""
FILES = """
    mkdir 83 -, mkdirat 258 34, unlink 87 -, unlinkat 263 35, rmdir 84 -, rename 82 -,
    renameat 264 38, renameat2 316 276
"""

# no sockets, and nothing that changes a file outside without opening it (chmod, utimensat, link)
BUILDER = """
    memfd_create 319 279, ftruncate 77 46, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -,
    pipe2 293 59, select 23 -, pselect6 270 72, pwrite64 18 68, pwritev 296 70, getcwd 79 17,
    statfs 137 43, fstatfs 138 44, fadvise64 221 223, mincore 27 232, msync 26 227,
    fork 57 -, vfork 58 -, execve 59 221, wait4 61 260, waitid 247 95, close_range 436 436,
    chdir 80 49, umask 95 166, fsync 74 82, fdatasync 75 83, flock 73 32, sendfile 40 71,
    copy_file_range 326 285, getpgrp 111 -, getpgid 121 155, getsid 124 156, getresuid 118 148,
    getresgid 120 150, getgroups 115 158
"""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def known_architecture(arch: str | None) -> str:
    """`arch`, or this machine's. Raises ValueError for one that has no table."""
    arch = arch or platform.machine()
    if arch not in AUDIT_ARCH:
        raise ValueError(f"no list of system calls for {arch}; there is one for x86_64 and aarch64")
    return arch


def numbers(table: str, arch: str) -> dict[str, int]:
    """The numbers of a table on `arch`, without the calls that it has not."""
    column = 1 if arch == "x86_64" else 2
    rows = [row.split() for row in table.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}
