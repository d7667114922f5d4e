"""What a host kernel's process says of the signal that ends it, in words with what to do."""

from __future__ import annotations

import signal
import struct
from typing import NamedTuple

REPORT = struct.Struct("<ciiQQQ")
"""`Crash` of executor.cpp"""
_KERNEL = 0x80
"""si_code SI_KERNEL: the processor told no address"""
_INTEGER_DIVISION = 1
"""si_code FPE_INTDIV"""
_NEAR_ZERO = 1 << 16
_STACK_SLACK = 256 << 10
"""between where main() began and where the stack really ends, both ways"""


class Crash(NamedTuple):
    """A fatal signal as the process itself met it."""

    tag: bytes
    number: int
    code: int
    """si_code of siginfo_t"""
    address: int
    """si_addr"""
    stack: int
    """the stack pointer; 0 where it is not known"""
    stack_end: int
    """the lowest address of the first thread's stack; 0: it has no limit"""


def crash_of(said: bytes) -> Crash | None:
    """The report at the beginning of what the process wrote, None when there is none."""
    if said[:1] != b"X" or len(said) < REPORT.size:
        return None
    return Crash(*REPORT.unpack_from(said))


def explain(crash: Crash) -> str:
    """The likeliest cause, for people; empty where the signal says it all."""
    match crash.number:
        case signal.SIGSEGV:
            return _bad_access(crash)
        case signal.SIGBUS:
            return "bus error: a misaligned access, or memory that is not there"
        case signal.SIGFPE if crash.code == _INTEGER_DIVISION:
            return "an integer was divided by zero, or the smallest one by -1"
        case signal.SIGILL:
            return (
                "a trap, code that the compiler held to be unreachable, or an instruction that "
                "this processor has not (see -march)"
            )
        case _:
            return ""


def _bad_access(crash: Crash) -> str:
    if crash.stack_end and crash.stack < crash.stack_end + _STACK_SLACK:
        return (
            "stack overflow: endless recursion, or local arrays beyond the stack's limit "
            "(take static or heap memory for them)"
        )
    if crash.code == _KERNEL:
        return (
            "an access that wants more alignment than its address has (movaps and other vector "
            "instructions; the contract's `align` says what is promised), or a wild pointer"
        )
    if crash.address < _NEAR_ZERO:
        return "through a null pointer"
    return f"address {crash.address:#x} is in none of its buffers"


def explain_abort(printed: str, memory_bytes: int) -> str:
    """Why a process called abort(), from what it printed; empty: it did not say."""
    if "bad_alloc" in printed or "cannot allocate" in printed.lower():
        return f"no memory: a kernel's process may take {memory_bytes / 2**30:.3g} GiB here"
    if "terminate called" in printed:
        return "it threw an exception; a kernel has nobody who would catch one"
    return ""
