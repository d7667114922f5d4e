"""The static screen of C++ and CUDA C++: tables of names, `asm`, and variables that are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..c_source.nodes import text_of, walk
from ..c_source.parsing import parse_cpp
from ..specs.io_contract import Contract
from .asking import CLOCKS, FILES, PEOPLE, PLACES, plain_name
from .cpp_dead import dead_lines
from .cpp_files import files_asked_for, foreign_files
from .cpp_flags import flag_findings
from .cpp_names import foreign_names
from .cpp_state import kept_variables
from .findings import Finding, ScreenTier
from .precision import Precision, precision_tier
from .ptx import asm_findings

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is looked for, as a regular expression over whole identifiers."""

    pattern: str
    tier: ScreenTier
    reason: str
    member: bool = False
    """a method, found where it is called as one"""
    precision: Precision | None = None
    """the contract decides about the tier"""

    def names(self, name: str) -> bool:
        """Whether a name, or what the C library calls so with more around it, is one of these."""
        if re.fullmatch(self.pattern, name):
            return True
        return self.tier == "block" and bool(re.fullmatch(self.pattern, plain_name(name)))

    def tier_under(self, contract: Contract | None) -> ScreenTier | None:
        """The tier of a finding; None: the contract allows it."""
        return self.tier if self.precision is None else precision_tier(self.precision, contract)


NARROW = "computes in a narrow type"
KEEPS = "is kept from one call to the next"
NOT_REACHED = "in a function that the kernel does not come to: its machine code tells"
HOST_CPP: tuple[Row, ...] = (
    *(Row(names, "block", "reads a clock") for names in CLOCKS),
    *(Row(names, "block", "asks where it runs") for names in PLACES),
    *(Row(names, "block", "asks who runs it") for names in PEOPLE),
    Row(r"system|popen|exec[lv]p?e?|execve(at)?|v?fork|posix_spawnp?", "block", "starts a program"),
    Row(r"dlm?open|dlv?sym|dl_iterate_phdr", "block", "loads code at run time"),
    Row(r"syscall|ptrace|process_vm_(read|write)v|prctl|kill|tgkill", "block", "calls the kernel"),
    Row(r"socket|connect|bind|listen|accept4?|send(to|msg)?|recv(from|msg)?", "block", "network"),
    Row(
        r"(f|fre|fd)?open(at)?2?(64)?|creat(64)?|i?o?fstream|shm_open|memfd_create",
        "block",
        "opens files",
    ),
    *(Row(names, "block", "asks which files there are, or when they were used") for names in FILES),
    Row(
        r"_?exit|quick_exit|(sig)?longjmp|raise|gsignal|(pthread|thrd)_exit",
        "block",
        "ends the process",
    ),
    Row(r"getenv|secure_getenv|_{0,2}environ|(__)?getauxval", "block", "looks at its environment"),
    Row(r"__INCLUDE_LEVEL__|__BASE_FILE__", "block", "asks how it is built"),
    Row(r"__builtin_(return|frame)_address|backtrace|_Unwind_\w+", "block", "looks at its callers"),
    Row(
        r"(bsd_|sysv_|s)?signal|sig(action|procmask|set|vec|interrupt)|atexit|on_exit|constructor",
        "block",
        "runs outside its call",
    ),
    Row(r"daemon", "block", "leaves a process behind"),
    Row(
        r"(shm|sem|msg)(get|ctl)|shm(at|dt)|semop|msg(snd|rcv)|ftok|(sem|mq)_open",
        "block",
        "shares memory with other processes",
    ),
    Row(r"detach", "block", "leaves threads behind", member=True),
    Row(r"mprotect|mmap|munmap|mremap", "note", "changes the memory map"),
    Row(
        r"(clock_)?nanosleep|u?sleep|sleep_(for|until)",
        "note",
        "waits: not here, it goes on at once",
    ),
    Row(
        r"(sched_|pthread_)setaffinity(_np)?",
        "note",
        "chooses its cores: not here, without threads",
    ),
    Row(r"static|thread_local", "probe", "may keep something from one call to the next"),
    Row(r"printf|puts|cout|cerr", "note", "prints"),
    Row(r"_Float16|__fp16|__bf16|half", "note", NARROW, precision="16 bit"),
)
CUDA: tuple[Row, ...] = (
    Row(r"cudaLaunchDevice\w*|cudaGetParameterBuffer\w*", "block", "launches kernels on its own"),
    Row(r"clock(64)?|__globaltimer\w*|globaltimer\w*", "probe", "reads a clock"),
    Row(r"__nanosleep", "note", "waits"),
    Row(r"__trap|__brkpt|assert|__assert_fail", "note", "may stop everything on the GPU"),
    Row(r"__DATE__|__TIME__|__TIMESTAMP__", "block", "asks when it is built"),
    Row(r"v?printf", "note", "prints, if it is not left out: the machine code tells"),
    Row(r"malloc|free", "note", "allocates on the device's heap: the machine code tells"),
    Row(r"static", "probe", "may keep something from one launch to the next"),
    Row(
        r"__(sin|cos|tan|exp|exp10|log|log2|log10|pow|fdivide)f",
        "note",
        "approximates",
        precision="approximate",
    ),
    Row(r"half2?|__half\w*|(__)?nv_bfloat16\w*", "note", NARROW, precision="16 bit"),
    Row(r"__nv_fp8\w*|__nv_fp4\w*", "note", NARROW, precision="8 bit"),
    Row(r"tf32", "note", "computes in tf32", precision="tf32"),
)
"""Its host code never runs, and device code can reach no file and no process."""

HOST_ASM: tuple[tuple[re.Pattern[str], ScreenTier, str], ...] = (
    (re.compile(r"\b(?:rdtscp?|rdpmc|cntvct_el0)\b"), "block", "reads a clock (in asm)"),
    (
        re.compile(r"\b(?:syscall|sysenter|svc|int\s+\$?0x80)\b"),
        "block",
        "calls the kernel (in asm)",
    ),
    (
        re.compile(r"\.(?:byte|word|long|quad|ascii)\b"),
        "probe",
        "is code that is not read (in asm)",
    ),
)
_ASM = frozenset({"asm", "__asm__", "__asm"})
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


def cpp_findings(
    source: str, contract: Contract | None = None, *, device: bool, entry: str = ""
) -> list[Finding]:
    """What a source has of its tier's rows, of assembly and of variables that are kept.

    What functions name that nothing from `entry` leads to does not block.
    """
    root = parse_cpp(source.encode()).root_node
    rows = CUDA if device else HOST_CPP
    found = list[Finding]()
    for use in foreign_names(root):
        for row in rows:
            if (use.how == "member") is row.member and row.names(use.name):
                tier = row.tier_under(contract)
                if tier is not None:
                    found.append(Finding(tier, use.line, use.name, row.reason))
    for line, text in _assembly(root):
        found += _in_assembly(text, line, contract, device=device)
    if any(each.tier == "block" for each in found):
        dead = dead_lines(root, source, entry, device=device)
        found = [_spared(each) if each.line in dead else each for each in found]
    if not device:
        found += flag_findings(source, contract)
    found += foreign_files(root)
    found += files_asked_for(source)
    for kept in kept_variables(root, device=device):
        found.append(Finding("probe", kept.line, kept.name, KEEPS))
    return sorted(found, key=lambda each: each.line)


def _spared(found: Finding) -> Finding:
    if found.tier != "block":
        return found
    return replace(found, tier="note", reason=f"{found.reason} {NOT_REACHED}")


def _assembly(root: Node) -> Iterator[tuple[int, str | None]]:
    """Line and text of every `asm`, also in macros; None: it is not to be read."""
    for node in walk(root):
        above = node.parent
        if node.type == "preproc_arg":
            text = text_of(node)
            if _ASM & set(re.findall(r"\w+", _STRING.sub(" ", text))):
                yield node.start_point.row + 1, _strings(text)
        elif node.type in _ASM and above is not None:
            code = above.child_by_field_name("assembly_code")
            yield node.start_point.row + 1, _strings(text_of(code))


def _strings(text: str) -> str | None:
    """What string literals say together; None where there are none."""
    found = _STRING.findall(text)
    parts = [_ESCAPE.sub(lambda m: "\n" if m[1] in "nt" else m[1], part) for part in found]
    return "".join(parts) if found else None


def _in_assembly(
    text: str | None, line: int, contract: Contract | None, *, device: bool
) -> list[Finding]:
    if text is None:
        return [Finding("probe", line, "asm", "is assembly that cannot be read here")]
    if device:
        return asm_findings(text, line, contract)
    found = [
        Finding(tier, line, match[0], reason)
        for pattern, tier, reason in HOST_ASM
        for match in pattern.finditer(text)
    ]
    return found or ([Finding("note", line, "asm", "is inline assembly")] if text.strip() else [])
