"""Faults that lie in a variant's source: for each the statement, and how it must end.

`{call}` in a fault of the host is `call(number, a, b, c)`, a bare system call of x86_64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelwright.runners.model import Ending

E = Ending
MEASURED = (E.faster, E.tie, E.slower, E.unstable)
CALL = """\
static long call(long number, long a, long b, long c) {
    long result;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c)
                 : "rcx", "r11", "memory");
    return result;
}
"""
SPIN = "#include <pthread.h>\nstatic void* spin(void*) { for (volatile int q = 0;;) q = 1; }\n"
REST = """\
#include <pthread.h>
#include <unistd.h>
static void* rest(void*) { for (;;) pause(); }
"""
DOWN = """\
volatile int bottom = 0;
static int down(int depth) {
    volatile char room[512];
    room[0] = static_cast<char>(depth);
    return bottom ? depth : down(depth + 1) + room[0];
}
"""
TYPES = """\
template <class A, class B> struct Pair {};
template <int N, class T> struct Many {
    static constexpr long v = Many<N - 1, Pair<T, int>>::v + Many<N - 1, Pair<T, char>>::v;
};
template <class T> struct Many<0, T> { static constexpr long v = 1; };
"""
FLOOD = """\
#define A _Pragma("message(\\"a flood of words that nobody reads\\")")
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
D D D D D D D D D D
"""


@dataclass(frozen=True)
class SourceFault:
    """A statement to put before the kernel's work, lines above it, and what is expected."""

    name: str
    line: str
    endings: tuple[Ending, ...]
    words: str
    """a regular expression that the message must match where it did not come to a measurement"""
    above: str = ""
    changes: dict[str, Any] = field(default_factory=dict[str, Any])
    """fields of the variant"""
    heavy: bool = False
    """takes minutes, or gigabytes: drawn seldom"""


CRASH = (E.launch_failed,)
HOST: tuple[SourceFault, ...] = (
    SourceFault(
        "endless loop", "for (volatile int q = 0;;) q = 1;", (E.timed_out,), "did not return"
    ),
    SourceFault(
        "endless loop that prints",
        'for (;;) printf("%d and on and on\\n", n);',
        (E.timed_out,),
        "did not return",
        "#include <cstdio>\n",
    ),
    SourceFault(
        "10 GB of output",
        "for (int k = 0; k < 10000; ++k) call(1, 1, (long)x, 1 << 20);",
        (*MEASURED, E.timed_out),
        "did not return",
        CALL,
    ),
    SourceFault(
        "threads that stay and spin",
        "static int begun = 0; pthread_t t; "
        "if (begun++ < 3) pthread_create(&t, nullptr, spin, nullptr);",
        MEASURED,
        "",
        SPIN,
    ),
    SourceFault(
        "thread storm",
        "pthread_attr_t a; pthread_attr_init(&a); pthread_attr_setstacksize(&a, 16384); "
        "pthread_t t; for (;;) pthread_create(&t, &a, rest, nullptr);",
        (E.launch_failed, E.timed_out),
        "more than 4096 threads|did not return",
        REST,
    ),
    SourceFault("null pointer", "*(volatile float*)nullptr = 1;", CRASH, "SIGSEGV.*null pointer"),
    SourceFault("wild pointer", "y[n * 50000L] = 1.0f;", CRASH, "SIGSEGV.*none of its buffers"),
    SourceFault("jump to nowhere", "((void (*)())y)();", CRASH, "SIGSEGV"),
    SourceFault(
        "division by zero",
        "volatile int zero = 0, q = n / zero; (void)q;",
        CRASH,
        "SIGFPE.*divided by zero",
    ),
    SourceFault("trap", "__builtin_trap();", CRASH, "SIGILL.*trap"),
    SourceFault(
        "misaligned SSE access",
        'asm volatile("movaps (%0), %%xmm0" : : "r"((const char*)x + 1) : "xmm0");',
        CRASH,
        "SIGSEGV.*alignment",
    ),
    SourceFault(
        "endless recursion", "volatile int q = down(n); (void)q;", CRASH, "stack overflow", DOWN
    ),
    SourceFault(
        "64 MiB on the stack",
        "volatile char big[64 << 20]; big[n] = 1; big[sizeof big - 1] = 2;",
        CRASH,
        "stack overflow",
    ),
    SourceFault("uncaught exception", "throw n;", CRASH, "SIGABRT.*exception"),
    SourceFault("exit(0)", "exit(0);", (E.rejected,), "ends the process", "#include <cstdlib>\n"),
    SourceFault("exit by a bare system call", "call(231, 0, 0, 0);", CRASH, "exit status 0", CALL),
    SourceFault(
        "fork storm",
        "for (int k = 0; k < 100000; ++k) if (call(57, 0, 0, 0) == 0) call(231, 0, 0, 0);",
        (*MEASURED, E.timed_out),
        "did not return",
        CALL,
    ),
    SourceFault(
        "stops itself",
        "call(234, call(39, 0, 0, 0), call(186, 0, 0, 0), 19);",
        MEASURED,
        "",
        CALL,
    ),
    SourceFault(
        "kills itself",
        "call(234, call(39, 0, 0, 0), call(186, 0, 0, 0), 9);",
        MEASURED,
        "",
        CALL,
    ),
    SourceFault("kills its runner", "call(62, call(110, 0, 0, 0), 9, 0);", MEASURED, "", CALL),
    SourceFault(
        "closes every descriptor",
        "for (int k = 0; k < 1024; ++k) call(3, k, 0, 0);",
        CRASH,
        "ended: exit|closed the runner's signal",
        CALL,
    ),
    SourceFault(
        "writes to every descriptor",
        "for (int k = 3; k < 64; ++k) call(1, k, (long)x, 8);",
        CRASH,
        "runner's signal",
        CALL,
    ),
    SourceFault(
        "descriptor storm",
        'for (int k = 0; k < 20000; ++k) call(2, (long)"/usr/lib", 0, 0);',
        MEASURED,
        "",
        CALL,
    ),
    SourceFault(
        "memory map storm",
        "for (int k = 0; k < 100000; ++k) call(9, 0, 1L << 30, 0);",
        MEASURED,
        "",
        CALL,
    ),
    SourceFault(
        "all memory",
        "for (;;) memset(new char[256 << 20], 1, 256 << 20);",
        (E.launch_failed, E.timed_out),
        "no memory: .* GiB|did not return",
        "#include <cstring>\n",
        heavy=True,
    ),
    SourceFault("writes behind its output", "y[n] = 1.0f;", (E.unsafe,), "behind the end"),
    SourceFault("changes an input", "((float*)x)[3] = 0.0f;", (E.unsafe,), "changed x"),
    SourceFault(
        "does not compile", "int m = = n;", (E.build_failed,), "expected primary-expression"
    ),
    SourceFault(
        "a header that is not there",
        "",
        (E.build_failed,),
        "No such file",
        '#include "nowhere.h"\n',
    ),
    SourceFault(
        "a header without end",
        "",
        (E.build_failed,),
        "more memory than the .* GiB",
        '#include "/dev/zero"\n',
        heavy=True,
    ),
    SourceFault(
        "an object file of a terabyte",
        "y[0] = big[n];",
        (E.build_failed,),
        "MiB it may write|too large",
        "static volatile char big[1L << 40] = {1};\n",
    ),
    SourceFault(
        "a compiler that talks without end",
        "",
        (*MEASURED, E.build_failed, E.timed_out),
        "did not end within|may write",
        FLOOD,
        heavy=True,
    ),
    SourceFault(
        "templates without end",
        "volatile long v = Many<60, int>::v; (void)v;",
        (E.build_failed, E.timed_out),
        "more memory than the .* GiB|did not end within",
        TYPES,
        heavy=True,
    ),
)
