"""The static screen: what a kernel's source has no business naming.

A row is a name or prefix, a tier and the reason. `block` ends the evaluation, `note` is
recorded beside it. Names are looked for among the identifiers of the syntax tree, so
comments and strings do not count. The walls that hold are elsewhere (the executor cannot
make these calls): the screen gives a clear answer early.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .model import GateResult
from .normalise import parse_cpp


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is looked for, as a regular expression over whole identifiers."""

    pattern: str
    tier: Literal["block", "note"]
    reason: str


HOST_CPP: tuple[Row, ...] = (
    Row(r"clock|clock_gettime|gettimeofday|time|ftime|times|getrusage", "block", "reads a clock"),
    Row(r"steady_clock|system_clock|high_resolution_clock|omp_get_wtime", "block", "reads a clock"),
    Row(r"_*rdtscp?|__builtin_ia32_rdtscp?|_*rdpmc", "block", "reads a clock"),
    Row(r"system|popen|exec[lv]p?e?|execve(at)?|v?fork|posix_spawnp?", "block", "starts a program"),
    Row(r"dlopen|dlsym|dlmopen|dl_iterate_phdr", "block", "loads code at run time"),
    Row(r"syscall|ptrace|process_vm_(read|write)v|prctl|kill|tgkill", "block", "calls the kernel"),
    Row(r"socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?", "block", "network"),
    Row(r"f?open(at)?|creat|freopen|i?o?fstream|shm_open|memfd_create", "block", "opens files"),
    Row(r"_?exit|quick_exit|abort|longjmp|raise", "block", "ends the process"),
    Row(r"getenv|secure_getenv|environ", "block", "looks at its environment"),
    Row(r"sig(nal|action|procmask)|atexit|on_exit|constructor", "block", "runs outside its call"),
    Row(r"detach|daemon", "block", "leaves threads behind"),
    Row(r"mprotect|mmap|munmap|mremap", "note", "changes the memory map"),
    Row(r"asm|__asm__|__asm", "note", "inline assembly is not looked into"),
    Row(r"static|thread_local", "note", "may keep state between calls"),
    Row(r"printf|puts|cout|cerr", "note", "prints"),
    Row(r"_Float16|__fp16|__bf16|half", "note", "computes in a narrow type"),
)
SCREENS = {"cpp": HOST_CPP}
_WORD = re.compile(r"[A-Za-z_]\w*")
_NAMES = frozenset(
    "identifier field_identifier type_identifier namespace_identifier primitive_type static "
    "thread_local asm __asm__ __asm preproc_arg".split()
)


def static_screen(source: str, kernel_type: str) -> GateResult:
    """The gate: failed for the first blocking name, with the line; notes are listed."""
    found = list[tuple[Row, str, int]]()
    for name, line in identifiers(source):
        for row in SCREENS.get(kernel_type, ()):
            if re.fullmatch(row.pattern, name):
                found.append((row, name, line))
    blocking = [f for f in found if f[0].tier == "block"]
    notes = sorted({f"line {line}: `{name}` {row.reason}" for row, name, line in found})
    if blocking:
        row, name, line = blocking[0]
        return GateResult(
            gate="static_screen",
            outcome="failed",
            message=f"line {line}: `{name}` {row.reason}; a kernel computes and does nothing else",
            evidence={"found": notes[:20]},
        )
    if notes:
        return GateResult(gate="static_screen", outcome="note", message="; ".join(notes[:5]))
    return GateResult(gate="static_screen", outcome="passed")


def identifiers(source: str) -> Iterator[tuple[str, int]]:
    """Every name in C++ or CUDA source with its line (from 1); macro bodies count as well."""
    pending = [parse_cpp(source.encode()).root_node]
    while pending:
        node = pending.pop()
        if node.type in _NAMES:
            text = (node.text or b"").decode("utf-8", "replace")
            for word in _WORD.findall(text):
                yield word, node.start_point.row + 1
        pending.extend(reversed(node.children))
