"""What a host kernel's process says of the signal that ends it, in words with what to do."""

from __future__ import annotations

import signal
import struct
from typing import NamedTuple, Protocol

REPORT = struct.Struct("<ciiQQQQ")
"""`Crash` of executor.cpp"""
_KERNEL = 0x80
"""si_code SI_KERNEL: the processor told no address"""
_INTEGER_DIVISION = 1
"""si_code FPE_INTDIV"""
CLOCK_READ = 0x7C10C
"""of executor.cpp in place of a si_code: the instruction reads a clock, or the vDSO's memory"""
FENCE = 1 << 20
"""`kFence` of executor.cpp"""
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
    arena: int
    """where its buffers begin"""


def crash_of(said: bytes) -> Crash | None:
    """The report at the beginning of what the process wrote, None when there is none."""
    if said[:1] != b"X" or len(said) < REPORT.size:
        return None
    return Crash(*REPORT.unpack_from(said))


class Memory(Protocol):
    """What lies where in a process' buffers (`protocol.layout.Arena`)."""

    @property
    def nbytes(self) -> int:
        """Bytes of all of it."""
        ...

    def beside(self, offset: int) -> str:
        """The side of which buffer a byte lies on that is none of any buffer's, in words."""
        ...


def explain(crash: Crash, memory: Memory | None = None) -> tuple[str, str]:
    """The likeliest cause, for people, empty where the signal says it all; and the address, which
    the code could have chosen to tell what it was given."""
    match crash.number:
        case signal.SIGSEGV if crash.code == CLOCK_READ:
            return "it reads a clock, and no kernel may", ""
        case signal.SIGSEGV:
            return _bad_access(crash, memory)
        case signal.SIGBUS:
            return "bus error: a misaligned access, or memory that is not there", ""
        case signal.SIGFPE if crash.code == _INTEGER_DIVISION:
            return "an integer was divided by zero, or the smallest one by -1", ""
        case signal.SIGILL:
            return (
                "a trap, code that the compiler held to be unreachable, or an instruction that "
                "this processor has not (see -march)"
            ), ""
        case _:
            return "", ""


def _bad_access(crash: Crash, memory: Memory | None) -> tuple[str, str]:
    if crash.stack_end and crash.stack < crash.stack_end + _STACK_SLACK:
        return (
            "stack overflow: endless recursion, or local arrays beyond the stack's limit "
            "(take static or heap memory for them)"
        ), ""
    if crash.code == _KERNEL:
        return (
            "an access that wants more alignment than its address has (movaps and other vector "
            "instructions; the contract's `align` says what is promised), or a wild pointer"
        ), ""
    if crash.address < _NEAR_ZERO:
        return "through a null pointer", ""
    address, offset = f"address {crash.address:#x}", crash.address - crash.arena
    if memory is not None and -FENCE <= offset < memory.nbytes + FENCE:
        if where := memory.beside(offset):
            return f"it touched memory {where}, where there is none", address
    return "an address in none of its buffers", address


def explain_abort(printed: str, memory_bytes: int) -> str:
    """Why a process called abort(), from what it printed; empty: it did not say."""
    if "bad_alloc" in printed or "cannot allocate" in printed.lower():
        return f"no memory: a kernel's process may take {memory_bytes / 2**30:.3g} GiB here"
    if "terminate called" in printed:
        return "it threw an exception; a kernel has nobody who would catch one"
    return ""
