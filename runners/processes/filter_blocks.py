"""Blocks of a BPF program that decide about one system call by its arguments, as `seccomp.py` joins
them.

Each begins with nothing loaded and ends in a return on every path.
"""

from __future__ import annotations

import errno
import signal
from functools import cache
from typing import NamedTuple

# struct seccomp_data (linux/seccomp.h): int nr; u32 arch; u64 ip; u64 args[6]
NUMBER, ARCH, POINTER, ARGUMENTS = 0, 4, 8, 16
# linux/filter.h: load a word; keep some bits; jump if equal, if at least, if any bit is set; return
LOAD, KEEP, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
ALLOW = 0x7FFF0000
REFUSE = 0x00050000 | errno.EPERM
TIMED_OUT = 0x00050000 | errno.ETIMEDOUT
UNKNOWN = 0x00050000 | errno.ENOSYS
DONE = 0x00050000
"""without having done anything: the call returns 0"""
KILL = 0x80000000
TERMINAL_QUERIES = (
    0x5401,
    0x5413,
    0x541B,
    0x5450,
    0x5451,
)  # TCGETS TIOCGWINSZ FIONREAD FIO(N)CLEX
FIONBIO = 0x5421
_IOCTL_TERMINAL, _IOCTL_SOCKET = 0x5400, 0x8900  # the second byte says whose request it is
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET = 1, 1, 5
# FUTEX_LOCK_PI WAIT_BITSET WAIT_REQUEUE_PI LOCK_PI2: with a time they wait until that time of day,
# and not to have to wait tells that it is past.
_FUTEX_UNTIL = (6, 9, 11, 13)
_FUTEX_WAIT = 0
_FUTEX_COMMAND = 0x7F
_AT_EMPTY_PATH = 0x1000


class OwnCalls(NamedTuple):
    """Descriptors that a process reads and writes from one instruction of its own alone."""

    reads: int
    writes: int
    at: int
    """the address behind that instruction"""


class Instruction(NamedTuple):
    """struct sock_filter: opcode, jumps if true and if false (instructions skipped), operand."""

    code: int
    if_true: int
    if_false: int
    operand: int


@cache
def load(argument: int, *, high: bool = False) -> Instruction:
    """Load 32 bits of an argument; both architectures are little endian."""
    return Instruction(LOAD, 0, 0, ARGUMENTS + 8 * argument + (4 if high else 0))


@cache
def ret(value: int) -> Instruction:
    return Instruction(RETURN, 0, 0, value)


def one_of(argument: int, values: tuple[int, ...]) -> list[Instruction]:
    """Allow these values of an argument that the kernel itself cuts to 32 bits."""
    block = [load(argument)]
    for value in values:
        block += [Instruction(EQUAL, 0, 1, value), ret(ALLOW)]
    return [*block, ret(REFUSE)]


def own_signal(own_pid: int) -> list[Instruction]:
    """Signals to itself, as abort() sends them, but none that cannot be told from an outsider's:
    who dies of SIGKILL or stands still after SIGSTOP was not itself the cause. Nor SIGCONT, with
    which one of its threads could undo a SIGSTOP before the others have met it."""
    return [
        load(0),
        Instruction(EQUAL, 1, 0, own_pid),
        ret(REFUSE),
        load(2),
        Instruction(EQUAL, 2, 0, signal.SIGKILL),
        Instruction(EQUAL, 1, 0, signal.SIGSTOP),
        Instruction(EQUAL, 0, 1, signal.SIGCONT),
        ret(REFUSE),
        ret(ALLOW),
    ]


def from_one_place(descriptor: int, at: int) -> list[Instruction]:
    """Any descriptor but this one, and this one from the instruction before that address."""
    return [
        load(0),
        Instruction(EQUAL, 0, 5, descriptor),
        Instruction(LOAD, 0, 0, POINTER),
        Instruction(EQUAL, 0, 2, at & 0xFFFFFFFF),
        Instruction(LOAD, 0, 0, POINTER + 4),
        Instruction(EQUAL, 1, 0, at >> 32),
        ret(REFUSE),
        ret(ALLOW),
    ]


def no_time() -> list[Instruction]:
    """Waiting for another thread, and for ever if need be: until a time, or for so long, is always
    over. Who sleeps while others work knows the time by how often he woke."""
    block = [load(1), Instruction(KEEP, 0, 0, _FUTEX_COMMAND)]
    commands = (_FUTEX_WAIT, *_FUTEX_UNTIL)
    left = len(commands)
    for number, command in enumerate(commands, 1):
        block.append(Instruction(EQUAL, left - number + 1, 0, command))
    return [
        *block,
        ret(ALLOW),
        load(3),
        Instruction(EQUAL, 0, 3, 0),
        load(3, high=True),
        Instruction(EQUAL, 0, 1, 0),
        ret(ALLOW),
        ret(TIMED_OUT),
    ]


def no_timeout() -> list[Instruction]:
    """poll(2) at once, or until something happens; for so long is over at once."""
    return [
        load(2),
        Instruction(EQUAL, 1, 0, 0),
        Instruction(AT_LEAST, 0, 1, 1 << 31),
        ret(ALLOW),
        ret(DONE),
    ]


def no_timeout_by_address() -> list[Instruction]:
    """As `no_timeout`, of ppoll(2), which is told where it stands how long to wait."""
    return [
        load(2),
        Instruction(EQUAL, 0, 3, 0),
        load(2, high=True),
        Instruction(EQUAL, 0, 1, 0),
        ret(ALLOW),
        ret(DONE),
    ]


def of_what_is_opened(known: tuple[int, ...], *, by_path: bool) -> list[Instruction]:
    """What a loader asks about a file that it has opened, and nobody about those that were open
    before (`known`): when they were written is a clock. `by_path`: newfstatat(2)."""
    flags = [load(3), Instruction(ANY_BIT, 1, 0, _AT_EMPTY_PATH), ret(REFUSE)] if by_path else []
    block = [*flags, load(0)]
    for number, descriptor in enumerate(known, 1):
        block.append(Instruction(EQUAL, len(known) - number + 1, 0, descriptor))
    return [*block, ret(ALLOW), ret(REFUSE)]


def without_bits(argument: int, bits: int) -> list[Instruction]:
    return [
        load(argument),
        Instruction(ANY_BIT, 0, 1, bits),
        ret(REFUSE),
        ret(ALLOW),
    ]


def device_ioctl() -> list[Instruction]:
    """Any request but those of terminals and sockets, of which some act on other processes."""
    block = one_of(1, (*TERMINAL_QUERIES, FIONBIO))[:-1]
    for kind in (_IOCTL_TERMINAL, _IOCTL_SOCKET):
        block += [
            load(1),
            Instruction(KEEP, 0, 0, 0xFF00),
            Instruction(EQUAL, 0, 1, kind),
            ret(REFUSE),
        ]
    return [*block, ret(ALLOW)]


def local_socket() -> list[Instruction]:
    """AF_UNIX with connections: without connect(), such a socket reaches nobody by itself."""
    block = [
        load(0),
        Instruction(EQUAL, 1, 0, _AF_UNIX),
        ret(REFUSE),
        load(1),
        Instruction(KEEP, 0, 0, 0xF),  # the type without its flags
    ]
    for kind in (_SOCK_STREAM, _SOCK_SEQPACKET):
        block += [Instruction(EQUAL, 0, 1, kind), ret(ALLOW)]
    return [*block, ret(REFUSE)]
