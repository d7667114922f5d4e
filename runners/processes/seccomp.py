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
import signal
import struct
from dataclasses import dataclass
from typing import NamedTuple

from . import launch
from .system_calls import (
    AUDIT_ARCH,
    BUILDER,
    CHECKED,
    COMPUTE,
    DEVICE,
    FILES,
    PYTHON,
    Architecture,
    known_architecture,
    numbers,
)

# struct seccomp_data (linux/seccomp.h): int nr; u32 arch; u64 ip; u64 args[6]
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
# linux/filter.h: load a word; keep some bits; jump if equal, if at least, if any bit is set; return
_LOAD, _KEEP, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EPERM
_UNKNOWN = 0x00050000 | errno.ENOSYS
_KILL = 0x80000000
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
# Of all nodes, never of an address: the policy of memory that is shared outlives whoever set it,
# and could tell a later process what an earlier one had computed.
_MEMORIES_ALLOWED = 4
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
    return _assemble(_Rules(COMPUTE, blocks), arch)


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
    return _assemble(_Rules(f"{COMPUTE},{PYTHON}", blocks), arch)


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
    plain = f"{COMPUTE},{BUILDER},{FILES}"
    return _assemble(_Rules(plain, {**blocks, **opening, "clone": forking}), arch)


def device_filter(own_pid: int, *, files_guarded: bool, arch: Architecture | None = None) -> bytes:
    """The program for a process that runs a user's reference on a GPU; as `reference_filter`.

    Also opens files for writing; makes, renames and removes them if landlock decides where
    (`files_guarded`). Its sockets are local ones that others may connect to; it cannot.
    """
    blocks = _blocks(own_pid, (), (_F_GETFD, _F_SETFD, _F_GETFL, *_FCNTL_PYTHON, *_FCNTL_LOCKS))
    blocks["ioctl"] = _device_ioctl()
    blocks["socket"] = _local_socket()
    blocks["get_mempolicy"] = [_return(_ALLOW)]
    for name, argument in (("open", 1), ("openat", 2)):
        blocks[name] = [_return(_ALLOW)] if files_guarded else _without_bits(argument, _CREATING)
    plain = f"{COMPUTE},{PYTHON},{DEVICE}" + (f",{FILES}" if files_guarded else "")
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
    number = _SECCOMP_NUMBER[known_architecture(None)]
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, operation, flags, ctypes.c_char_p(data))


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
        "tgkill": _own_signal(own_pid),
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
        "get_mempolicy": _one_of(4, (0, _MEMORIES_ALLOWED)),
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


def _own_signal(own_pid: int) -> list[Instruction]:
    """Signals to itself, as abort() sends them, but none that cannot be told from an outsider's:
    who dies of SIGKILL or stands still after SIGSTOP was not itself the cause. Nor SIGCONT, with
    which one of its threads could undo a SIGSTOP before the others have met it."""
    return [
        _load(0),
        Instruction(_EQUAL, 1, 0, own_pid),
        _return(_REFUSE),
        _load(2),
        Instruction(_EQUAL, 2, 0, signal.SIGKILL),
        Instruction(_EQUAL, 1, 0, signal.SIGSTOP),
        Instruction(_EQUAL, 0, 1, signal.SIGCONT),
        _return(_REFUSE),
        _return(_ALLOW),
    ]


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
    arch = known_architecture(arch)
    program = [
        Instruction(_LOAD, 0, 0, _ARCH),
        Instruction(_EQUAL, 1, 0, AUDIT_ARCH[arch]),
        _return(_KILL),
        Instruction(_LOAD, 0, 0, _NUMBER),
    ]
    if arch == "x86_64":
        program += [Instruction(_AT_LEAST, 0, 1, _X32_BIT), _return(_REFUSE)]
    for number in numbers(rules.plain, arch).values():
        program += [Instruction(_EQUAL, 0, 1, number), _return(_ALLOW)]
    for name, number in numbers(CHECKED, arch).items():
        block = rules.blocks[name]
        program += [Instruction(_EQUAL, 0, len(block), number), *block]
    program.append(_return(_REFUSE))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
