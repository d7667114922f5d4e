"""Which system calls confined code may make: allow-lists as BPF programs for seccomp.

`compute_filter` is for native code of a candidate: memory, threads, reading files,
and reading and writing what is already open. `reference_filter` adds clocks and what a Python
interpreter with numpy needs, `device_filter` what CUDA needs besides. None can exec, fork, connect,
signal, trace or re-schedule another process, and only the last opens files for writing.
`builder_filter`, for Python that a compiler executes, can start programs and write files: which
ones is for landlock to say. A refused call fails with EPERM; clone3, whose arguments a filter
cannot see, fails with ENOSYS, so that the C library falls back to clone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from . import launch
from .filter_blocks import (
    ALLOW,
    ANY_BIT,
    ARCH,
    AT_LEAST,
    DONE,
    EQUAL,
    FIONBIO,
    KILL,
    LOAD,
    NUMBER,
    REFUSE,
    TERMINAL_QUERIES,
    UNKNOWN,
    Instruction,
    OwnCalls,
    device_ioctl,
    from_one_place,
    load,
    local_socket,
    no_time,
    no_timeout,
    no_timeout_by_address,
    of_what_is_opened,
    one_of,
    own_signal,
    ret,
    without_bits,
)
from .system_calls import (
    ASKING,
    AUDIT_ARCH,
    BUILDER,
    CHECKED,
    COMPUTE,
    DEVICE,
    FILES,
    LOOKING,
    PYTHON,
    Architecture,
    known_architecture,
    numbers,
)

_X32_BIT = 0x40000000

_CREATING = os.O_CREAT | os.O_TRUNC | os.O_APPEND
_WRITING = os.O_WRONLY | os.O_RDWR | _CREATING
_CLONE_THREAD = 0x00010000
# CLONE_NEWTIME NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET, PTRACE, PARENT, UNTRACED
_CLONE_REFUSED = 0x7E020080 | 0x2000 | 0x8000 | 0x00800000
_FIONREAD = 0x541B
"""how much lies in a pipe; no kernel is told how many calls are to come"""
_F_GETFD, _F_SETFD, _F_GETFL = 1, 2, 3
# F_DUPFD F_SETFL F_DUPFD_CLOEXEC F_ADD_SEALS F_GET_SEALS; never F_SETOWN: it sends signals
_FCNTL_PYTHON = (0, 4, 1030, 1033, 1034)
_FCNTL_LOCKS = (5, 6, 7)  # F_GETLK F_SETLK F_SETLKW
# Of all nodes, never of an address: the policy of memory that is shared outlives whoever set it,
# and could tell a later process what an earlier one had computed.
_MEMORIES_ALLOWED = 4
_PRCTL_NAMES = (15, 16, 0x53564D41)  # PR_SET_NAME PR_GET_NAME PR_SET_VMA
_PR_GET_NAME = 16
# MADV_NORMAL RANDOM SEQUENTIAL WILLNEED DONTNEED FREE HUGEPAGE NOHUGEPAGE; never COLD, PAGEOUT,
# POPULATE or REMOVE: which pages of a file lie in memory outlives a process, and would tell the
# next one what it had computed.
_ADVICE = (0, 1, 2, 3, 4, 8, 14, 15)
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_GET_ACTION_AVAIL = 2
_FLAG_ALL_THREADS, _FLAG_SPECULATION = 1, 4
_SECCOMP_NUMBER = {"x86_64": 317, "aarch64": 277}


@dataclass(frozen=True, slots=True)
class _Rules:
    """What is allowed: calls as they are, and calls with a block that looks at the arguments."""

    plain: str
    blocks: dict[str, list[Instruction]]


def compute_filter(
    own_pid: int,
    arch: Architecture | None = None,
    *,
    own: OwnCalls | None = None,
    answers: bool = False,
    stays: bool = False,
) -> bytes:
    """The program for native compute code in the process `own_pid`.

    `own`: what only the process itself may read and write, not the code it was made for. `answers`:
    it may ask for the time, and about the machine, its process and files. `stays`: it runs where
    it is put. An array of struct sock_filter, little endian, for PR_SET_SECCOMP or seccomp(2);
    `arch` is this machine's unless given. Raises ValueError on other architectures.
    """
    terminals = tuple(each for each in TERMINAL_QUERIES if each != _FIONREAD)
    blocks = _blocks(own_pid, terminals, (_F_GETFD, _F_SETFD, _F_GETFL))
    blocks["madvise"] = one_of(2, _ADVICE)
    if not answers:
        blocks["prctl"] = one_of(0, tuple(each for each in _PRCTL_NAMES if each != _PR_GET_NAME))
        known = (0, 1, 2) if own is None else (0, 1, 2, own.reads, own.writes)
        blocks["fstat"] = of_what_is_opened(known, by_path=False)
        blocks["newfstatat"] = of_what_is_opened(known, by_path=True)
        blocks["nanosleep"] = blocks["clock_nanosleep"] = [ret(DONE)]
        # a thread's sequence tells whether it was taken from its core; a C library that was refused
        # one would give up
        blocks["rseq"] = [ret(DONE)]
        blocks["futex"] = no_time()
        blocks["poll"] = no_timeout()
        blocks["ppoll"] = no_timeout_by_address()
    if stays:
        blocks["sched_setaffinity"] = [ret(REFUSE)]
    if own is not None:
        blocks["seccomp"] = from_one_place(_SECCOMP_SET_MODE_FILTER, own.at)
        for name in ("read", "readv"):
            blocks[name] = from_one_place(own.reads, own.at)
        for name in ("write", "writev"):
            blocks[name] = from_one_place(own.writes, own.at)
    plain = f"{COMPUTE},{ASKING},{LOOKING}" if answers else COMPUTE
    return _assemble(_Rules(plain, blocks), arch)


@cache
def loaded_filter(arch: Architecture | None = None) -> bytes:
    """What a process of native compute code is bound by besides, once its code is loaded: what a
    loader asks about files that it opens, nobody asks any more. As `compute_filter`."""
    refused = numbers("fstat 5 80, newfstatat 262 79", known_architecture(arch)).values()
    program = [Instruction(LOAD, 0, 0, NUMBER)]
    for number in refused:
        program += [Instruction(EQUAL, 0, 1, number), ret(REFUSE)]
    return _packed([*program, ret(ALLOW)])


def reference_filter(own_pid: int, arch: Architecture | None = None) -> bytes:
    """The program for a Python process that runs a user's reference; as `compute_filter`.

    Also lets it use the sockets, pipes and memory files it has, and make new pipes and memory
    files. Writing byte code fails, which Python takes in its stride.
    """
    blocks = _blocks(
        own_pid,
        (*TERMINAL_QUERIES, FIONBIO),
        (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON),
    )
    return _assemble(_Rules(f"{COMPUTE},{ASKING},{LOOKING},{PYTHON}", blocks), arch)


def builder_filter(own_pid: int, arch: Architecture | None = None) -> bytes:
    """The program for a Python process that compiles, and for the compilers it starts.

    As `compute_filter`, and it may fork, execute, and write and remove files. No sockets at all.
    Use it together with landlock, which says where.
    """
    blocks = _blocks(
        own_pid,
        (*TERMINAL_QUERIES, FIONBIO),
        (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON, *_FCNTL_LOCKS),
    )
    opening = {"open": [ret(ALLOW)], "openat": [ret(ALLOW)]}
    forking = [
        load(0),
        Instruction(ANY_BIT, 0, 1, _CLONE_REFUSED),
        ret(REFUSE),
        ret(ALLOW),
    ]
    plain = f"{COMPUTE},{ASKING},{LOOKING},{BUILDER},{FILES}"
    return _assemble(_Rules(plain, {**blocks, **opening, "clone": forking}), arch)


def device_filter(own_pid: int, *, files_guarded: bool, arch: Architecture | None = None) -> bytes:
    """The program for a process that runs a user's reference on a GPU; as `reference_filter`.

    Also opens files for writing; makes, renames and removes them if landlock decides where
    (`files_guarded`). Its sockets are local ones that others may connect to; it cannot.
    """
    blocks = _blocks(own_pid, (), (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON, *_FCNTL_LOCKS))
    blocks["ioctl"] = device_ioctl()
    blocks["socket"] = local_socket()
    blocks["get_mempolicy"] = [ret(ALLOW)]
    for name, argument in (("open", 1), ("openat", 2)):
        blocks[name] = [ret(ALLOW)] if files_guarded else without_bits(argument, _CREATING)
    plain = f"{COMPUTE},{ASKING},{LOOKING},{PYTHON},{DEVICE}"
    plain += f",{FILES}" if files_guarded else ""
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
    return _seccomp(_SECCOMP_GET_ACTION_AVAIL, 0, struct.pack("I", REFUSE & 0xFFFF0000)) == 0


def _seccomp(operation: int, flags: int, data: bytes) -> int:
    number = _SECCOMP_NUMBER[known_architecture(None)]
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, operation, flags, ctypes.c_char_p(data))


def _blocks(
    own_pid: int, ioctls: tuple[int, ...], fcntls: tuple[int, ...]
) -> dict[str, list[Instruction]]:
    """A block for each call whose arguments decide; each ends in a return on every path."""
    free = (
        *("read", "write", "readv", "writev", "madvise", "futex", "clock_nanosleep", "nanosleep"),
        *("poll", "ppoll", "fstat", "newfstatat", "rseq"),
    )
    return {
        **{name: [ret(ALLOW)] for name in free},
        "open": without_bits(1, _WRITING),
        "openat": without_bits(2, _WRITING),
        "clone": [
            load(0),
            Instruction(ANY_BIT, 0, 1, _CLONE_REFUSED),
            ret(REFUSE),
            Instruction(ANY_BIT, 0, 1, _CLONE_THREAD),
            ret(ALLOW),
            ret(REFUSE),
        ],
        "clone3": [ret(UNKNOWN)],
        "tgkill": own_signal(own_pid),
        "sched_setaffinity": one_of(0, (0, own_pid)),
        "ioctl": one_of(1, ioctls),
        "fcntl": one_of(1, fcntls),
        "prctl": one_of(0, _PRCTL_NAMES),
        "prlimit64": [
            load(2),
            Instruction(EQUAL, 0, 3, 0),
            load(2, high=True),
            Instruction(EQUAL, 0, 1, 0),
            ret(ALLOW),
            ret(REFUSE),
        ],
        "socket": [ret(REFUSE)],
        "seccomp": [ret(REFUSE)],
        "get_mempolicy": one_of(4, (0, _MEMORIES_ALLOWED)),
    }


def _assemble(rules: _Rules, arch: str | None) -> bytes:
    arch = known_architecture(arch)
    program = [
        Instruction(LOAD, 0, 0, ARCH),
        Instruction(EQUAL, 1, 0, AUDIT_ARCH[arch]),
        ret(KILL),
        Instruction(LOAD, 0, 0, NUMBER),
    ]
    if arch == "x86_64":
        program += [Instruction(AT_LEAST, 0, 1, _X32_BIT), ret(REFUSE)]
    for name, number in _checked(arch):  # what is called often comes first
        block = rules.blocks[name]
        program += [Instruction(EQUAL, 0, len(block), number), *block]
    return _packed(program) + _allowed(rules.plain, arch)


@cache
def _checked(arch: str) -> tuple[tuple[str, int], ...]:
    return tuple(numbers(CHECKED, arch).items())


@cache
def _allowed(plain: str, arch: str) -> bytes:
    """The end of a program: these calls are allowed as they are, all others refused. It says
    nothing of a process, and is two thirds of what each executor is told."""
    listed = ([Instruction(EQUAL, 0, 1, n), ret(ALLOW)] for n in numbers(plain, arch).values())
    return _packed([*chain.from_iterable(listed), ret(REFUSE)])


def _packed(program: Sequence[Instruction]) -> bytes:
    return struct.pack("<" + "HBBI" * len(program), *chain.from_iterable(program))
