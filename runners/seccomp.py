"""Which system calls confined code may make: allow-lists as BPF programs for seccomp.

`compute_filter` is for native code of a candidate: memory, threads, clocks, reading files,
and reading and writing what is already open. `reference_filter` adds what a Python interpreter
with numpy needs, `device_filter` what CUDA needs besides. None can exec, fork, connect, signal,
trace or re-schedule another process, and only the last opens files for writing.
`builder_filter`, for Python that a compiler executes, can start programs and write files: which
ones is for landlock to say. A refused call fails with EPERM; clone3, whose arguments a filter
cannot see, fails with ENOSYS, so that the C library falls back to clone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from dataclasses import dataclass
from typing import Literal, NamedTuple

from . import launch

Architecture = Literal["x86_64", "aarch64"]

# name, number on x86_64, number on aarch64 ("-": there is no such call)
_COMPUTE = """
    read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, preadv 295 69, close 3 57,
    fstat 5 80, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, lseek 8 62, mmap 9 222,
    munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, futex 202 98,
    futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455, futex_requeue 456 456,
    sched_yield 24 124, sched_getaffinity 204 123, sched_getparam 143 121,
    sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
    rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136,
    rt_sigtimedwait 128 137, rt_sigsuspend 130 133, sigaltstack 131 132, exit 60 93,
    exit_group 231 94, restart_syscall 219 128, nanosleep 35 101, clock_nanosleep 230 115,
    clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -,
    times 100 153, getpid 39 172, getppid 110 173, gettid 186 178, getuid 102 174,
    geteuid 107 175, getgid 104 176, getegid 108 177, getrusage 98 165, getrlimit 97 163,
    getrandom 318 278, set_robust_list 273 99, rseq 334 293, set_tid_address 218 96,
    membarrier 324 283, getcpu 309 168, uname 63 160, sysinfo 99 179, arch_prctl 158 -,
    poll 7 -, ppoll 271 73, mbind 237 235, set_mempolicy 238 237, get_mempolicy 239 236,
    getdents64 217 61, readlink 89 -, readlinkat 267 78, access 21 -, faccessat 269 48,
    faccessat2 439 439
"""
_CHECKED = """
    open 2 -, openat 257 56, clone 56 220, clone3 435 435, tgkill 234 131, prlimit64 302 261,
    ioctl 16 29, fcntl 72 25, prctl 157 167, sched_setaffinity 203 122, socket 41 198
"""
_PYTHON = """
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
_DEVICE = """
    bind 49 200, listen 50 201, accept 43 202, accept4 288 242, socketpair 53 199,
    setsockopt 54 208, mlock 149 228, mlock2 325 284, munlock 150 229, umask 95 166,
    eventfd 284 -, epoll_create 213 -, epoll_pwait2 441 441, fallocate 285 47, flock 73 32,
    fsync 74 82, fdatasync 75 83, getgroups 115 158, getresuid 118 148, getresgid 120 150,
    capget 125 90, getpgid 121 155, getsid 124 156, getpriority 140 141, sched_getattr 315 275
"""
_FILES = """
    mkdir 83 -, mkdirat 258 34, unlink 87 -, unlinkat 263 35, rmdir 84 -, rename 82 -,
    renameat 264 38, renameat2 316 276
"""

# no sockets, and nothing that changes a file outside without opening it (chmod, utimensat, link)
_BUILDER = """
    memfd_create 319 279, ftruncate 77 46, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -,
    pipe2 293 59, select 23 -, pselect6 270 72, pwrite64 18 68, pwritev 296 70, getcwd 79 17,
    statfs 137 43, fstatfs 138 44, fadvise64 221 223, mincore 27 232, msync 26 227,
    fork 57 -, vfork 58 -, execve 59 221, wait4 61 260, waitid 247 95, close_range 436 436,
    chdir 80 49, umask 95 166, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -,
    unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, fsync 74 82,
    fdatasync 75 83, flock 73 32, copy_file_range 326 285, sendfile 40 71, getpgrp 111 -,
    getpgid 121 155, getsid 124 156, getresuid 118 148, getresgid 120 150, getgroups 115 158
"""

# struct seccomp_data (linux/seccomp.h): int nr; u32 arch; u64 ip; u64 args[6]
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
# linux/filter.h: load a word; keep some bits; jump if equal, if at least, if any bit is set; return
_LOAD, _KEEP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS
_KILL = 0x80000000
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_CREATING = os.O_CREAT | os.O_TRUNC | os.O_APPEND
_WRITING = os.O_WRONLY | os.O_RDWR | _CREATING
_CLONE_THREAD = 0x00010000
# CLONE_NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET, PTRACE, PARENT, UNTRACED
_CLONE_REFUSED = 0x7E020080 | 0x2000 | 0x8000 | 0x00800000
_TERMINAL_QUERIES = (
    0x5401,
    0x5413,
    0x541B,
    0x5450,
    0x5451,
)  # TCGETS TIOCGWINSZ FIONREAD FIO(N)CLEX
_FIONBIO = 0x5421
_F_GETFD, _F_SETFD, _F_GETFL = 1, 2, 3
# F_DUPFD F_SETFL F_DUPFD_CLOEXEC F_ADD_SEALS F_GET_SEALS; never F_SETOWN: it sends signals
_FCNTL_PYTHON = (0, 4, 1030, 1033, 1034)
_IOCTL_TERMINAL, _IOCTL_SOCKET = 0x5400, 0x8900  # the second byte says whose request it is
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 1, 5
_FCNTL_LOCKS = (5, 6, 7)  # F_GETLK F_SETLK F_SETLKW
_PRCTL_NAMES = (15, 16, 0x53564D41)  # PR_SET_NAME PR_GET_NAME PR_SET_VMA

_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_GET_ACTION_AVAIL = 2
_FLAG_ALL_THREADS, _FLAG_SPECULATION = 1, 4
_SECCOMP_NUMBER = {"x86_64": 317, "aarch64": 277}


class Instruction(NamedTuple):
    """struct sock_filter: opcode, jumps if true and if false (instructions skipped), operand."""

    code: int
    if_true: int
    if_false: int
    operand: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is allowed: calls as they are, and calls with a block that looks at the arguments."""

    plain: str
    blocks: dict[str, list[Instruction]]


def compute_filter(own_pid: int, arch: Architecture | None = None) -> bytes:
    """The program for native compute code in the process `own_pid`.

    An array of struct sock_filter, little endian, for PR_SET_SECCOMP or seccomp(2); `arch` is
    this machine's unless given. Raises ValueError on other architectures.
    """
    blocks = _blocks(own_pid, _TERMINAL_QUERIES, (_F_GETFD, _F_SETFD, _F_GETFL))
    return _assemble(_Rules(_COMPUTE, blocks), arch)


def reference_filter(own_pid: int, arch: Architecture | None = None) -> bytes:
    """The program for a Python process that runs a user's reference; as `compute_filter`.

    Also lets it use the sockets, pipes and memory files it has, and make new pipes and memory
    files. Writing byte code fails, which Python takes in its stride.
    """
    blocks = _blocks(
        own_pid,
        (*_TERMINAL_QUERIES, _FIONBIO),
        (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON),
    )
    return _assemble(_Rules(f"{_COMPUTE},{_PYTHON}", blocks), arch)


def builder_filter(own_pid: int, arch: Architecture | None = None) -> bytes:
    """The program for a Python process that compiles, and for the compilers it starts.

    As `compute_filter`, and it may fork, execute, and write and remove files. No sockets at all.
    Use it together with landlock, which says where.
    """
    blocks = _blocks(
        own_pid,
        (*_TERMINAL_QUERIES, _FIONBIO),
        (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON, *_FCNTL_LOCKS),
    )
    opening = {"open": [_return(_ALLOW)], "openat": [_return(_ALLOW)]}
    forking = [
        _load(0),
        Instruction(_ANY_BIT, 0, 1, _CLONE_REFUSED),
        _return(_REFUSE),
        _return(_ALLOW),
    ]
    return _assemble(
        _Rules(f"{_COMPUTE},{_BUILDER}", {**blocks, **opening, "clone": forking}), arch
    )


def device_filter(own_pid: int, *, files_guarded: bool, arch: Architecture | None = None) -> bytes:
    """The program for a process that runs a user's reference on a GPU; as `reference_filter`.

    Also opens files for writing; makes, renames and removes them if landlock decides where
    (`files_guarded`). Its sockets are local ones that others may connect to; it cannot.
    """
    blocks = _blocks(own_pid, (), (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON, *_FCNTL_LOCKS))
    blocks["ioctl"] = _device_ioctl()
    blocks["socket"] = _local_socket()
    for name, argument in (("open", 1), ("openat", 2)):
        blocks[name] = [_return(_ALLOW)] if files_guarded else _without_bits(argument, _CREATING)
    plain = f"{_COMPUTE},{_PYTHON},{_DEVICE}" + (f",{_FILES}" if files_guarded else "")
    return _assemble(_Rules(plain, blocks), arch)


def install_seccomp(program: bytes) -> None:
    """Bind this process, all its threads, and its children to `program`, for good.

    Sets no_new_privs. Allows speculation: before Linux 5.16 a filter would otherwise switch on
    mitigations that slow down the very code we time. Raises OSError.
    """
    launch.prctl(launch.PR_SET_NO_NEW_PRIVS, 1)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    flags = _FLAG_ALL_THREADS | _FLAG_SPECULATION
    if _seccomp(_SECCOMP_SET_MODE_FILTER, flags, header):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def has_seccomp() -> bool:
    """Whether this kernel takes seccomp programs from us, on an architecture we have a list for."""
    if platform.machine() not in _SECCOMP_NUMBER:
        return False
    return _seccomp(_SECCOMP_GET_ACTION_AVAIL, 0, struct.pack("I", _REFUSE & 0xFFFF0000)) == 0


def _seccomp(operation: int, flags: int, data: bytes) -> int:
    number = _SECCOMP_NUMBER[_architecture(None)]
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, operation, flags, ctypes.c_char_p(data))


def _architecture(arch: str | None) -> str:
    arch = arch or platform.machine()
    if arch not in _AUDIT_ARCH:
        raise ValueError(f"no list of system calls for {arch}; there is one for x86_64 and aarch64")
    return arch


def syscall_numbers(arch: Architecture) -> dict[str, int]:
    """The calls that any of our programs mentions, and their numbers on `arch`."""
    tables = (_COMPUTE, _CHECKED, _PYTHON, _BUILDER, _DEVICE, _FILES)
    return _numbers(",".join(tables), arch)


def _numbers(table: str, arch: str) -> dict[str, int]:
    column = 1 if arch == "x86_64" else 2
    rows = [row.split() for row in table.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def _blocks(
    own_pid: int, ioctls: tuple[int, ...], fcntls: tuple[int, ...]
) -> dict[str, list[Instruction]]:
    """A block for each call whose arguments decide; each ends in a return on every path."""
    return {
        "open": _without_bits(1, _WRITING),
        "openat": _without_bits(2, _WRITING),
        "clone": [
            _load(0),
            Instruction(_ANY_BIT, 0, 1, _CLONE_REFUSED),
            _return(_REFUSE),
            Instruction(_ANY_BIT, 0, 1, _CLONE_THREAD),
            _return(_ALLOW),
            _return(_REFUSE),
        ],
        "clone3": [_return(_UNKNOWN)],
        "tgkill": _one_of(0, (own_pid,)),
        "sched_setaffinity": _one_of(0, (0, own_pid)),
        "ioctl": _one_of(1, ioctls),
        "fcntl": _one_of(1, fcntls),
        "prctl": _one_of(0, _PRCTL_NAMES),
        "prlimit64": [
            _load(2),
            Instruction(_EQUAL, 0, 3, 0),
            _load(2, high=True),
            Instruction(_EQUAL, 0, 1, 0),
            _return(_ALLOW),
            _return(_REFUSE),
        ],
        "socket": [_return(_REFUSE)],
    }


def _load(argument: int, *, high: bool = False) -> Instruction:
    """Load 32 bits of an argument; both architectures are little endian."""
    return Instruction(_LOAD, 0, 0, _ARGUMENTS + 8 * argument + (4 if high else 0))


def _return(value: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, value)


def _one_of(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Allow these values of an argument that the kernel itself cuts to 32 bits."""
    block = [_load(argument)]
    for value in values:
        block += [Instruction(_EQUAL, 0, 1, value), _return(_ALLOW)]
    return [*block, _return(_REFUSE)]


def _without_bits(argument: int, bits: int) -> list[Instruction]:
    return [
        _load(argument),
        Instruction(_ANY_BIT, 0, 1, bits),
        _return(_REFUSE),
        _return(_ALLOW),
    ]


def _device_ioctl() -> list[Instruction]:
    """Any request but those of terminals and sockets, of which some act on other processes."""
    block = _one_of(1, (*_TERMINAL_QUERIES, _FIONBIO))[:-1]
    for kind in (_IOCTL_TERMINAL, _IOCTL_SOCKET):
        block += [
            _load(1),
            Instruction(_KEEP, 0, 0, 0xFF00),
            Instruction(_EQUAL, 0, 1, kind),
            _return(_REFUSE),
        ]
    return [*block, _return(_ALLOW)]


def _local_socket() -> list[Instruction]:
    """AF_UNIX with connections: without connect(), such a socket reaches nobody by itself."""
    block = [
        _load(0),
        Instruction(_EQUAL, 1, 0, _AF_UNIX),
        _return(_REFUSE),
        _load(1),
        Instruction(_KEEP, 0, 0, 0xF),  # the type without its flags
    ]
    for kind in (_SOCK_STREAM, _SOCK_SEQPACKET):
        block += [Instruction(_EQUAL, 0, 1, kind), _return(_ALLOW)]
    return [*block, _return(_REFUSE)]


def _assemble(rules: _Rules, arch: str | None) -> bytes:
    arch = _architecture(arch)
    program = [
        Instruction(_LOAD, 0, 0, _ARCH),
        Instruction(_EQUAL, 1, 0, _AUDIT_ARCH[arch]),
        _return(_KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if arch == "x86_64":
        program += [Instruction(_AT_LEAST, 0, 1, _X32_BIT), _return(_REFUSE)]
    for number in _numbers(rules.plain, arch).values():
        program += [Instruction(_EQUAL, 0, 1, number), _return(_ALLOW)]
    for name, number in _numbers(_CHECKED, arch).items():
        block = rules.blocks[name]
        program += [Instruction(_EQUAL, 0, len(block), number), *block]
    program.append(_return(_REFUSE))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
