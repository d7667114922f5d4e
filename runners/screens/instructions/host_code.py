"""The screen of a host kernel's machine code: what it imports, and what it asks the processor.

A source is read with its own words, and those can be joined, renamed (`asm("time")` behind a
declaration), written as bytes, or stand in a header. What the compiler and the linker made of it
cannot. Names are judged by the rows of `cpp.py`; the answers are refused by the executor in any
case.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from ...machine_code.rare_instructions import (
    NOT_READ,
    may_be_rare,
    rare_instructions,
    too_large,
)
from ...machine_code.reachable import Reached, reached
from ...machine_code.shared_object import SharedObject, name_parts, read_shared_object
from ..cpp import HOST_CPP
from ..findings import Finding, ScreenTier

CLOCK, SYSTEM = "reads a clock", "calls the kernel"
_PLACE = "asks which processor it runs on"
INSTRUCTIONS: Mapping[str, tuple[ScreenTier, str]] = {
    **dict.fromkeys(("rdtsc", "rdtscp", "rdpmc", "rdpru"), ("block", CLOCK)),
    **dict.fromkeys(("tpause", "umwait", "mwaitx", "wfet", "wfit"), ("block", "waits by a clock")),
    **dict.fromkeys(("syscall", "sysenter", "int", "svc"), ("block", SYSTEM)),
    **dict.fromkeys(("vmcall", "vmmcall", "hvc", "smc"), ("block", "calls the hypervisor")),
    **dict.fromkeys(
        ("cntpct_el0", "cntvct_el0", "cntpctss_el0", "cntvctss_el0", "pmccntr_el0"),
        ("block", CLOCK),
    ),
    "cpuid": ("probe", "asks what processor it runs on"),
    **dict.fromkeys(("rdpid", "lsl"), ("probe", _PLACE)),
    **dict.fromkeys(("rdrand", "rdseed"), ("probe", "draws numbers that no seed repeats")),
    NOT_READ: ("probe", "is not read here"),
}
"""by the names of `rare_instructions`. `cpuid` and its kin have honest uses and are probed."""
OF_THE_COMPILER = re.compile(
    r"(?:__cpu_indicator_init|(?:get_available_features|has_cpu_feature|set_cpu_feature"
    r"|cpu_indicator_init)(?:\..*)?)"
)
"""functions of libgcc that come with `__builtin_cpu_supports`. Who calls his own like this saves
himself a probe, and no more."""
EMITTED = frozenset({"_Unwind_Resume", "__getauxval"})
"""imports that compilers write: for destructors on the way of what is thrown, and for atomics"""


def host_code_findings(image: bytes, entries: Collection[str] = ()) -> list[Finding]:
    """What is suspicious in a shared object, of all that its entries can come to; without entries,
    of all of it. Raises SpecError for a damaged one."""
    code = read_shared_object(image)
    way = _way(code, entries)
    imports = [name for name in code.imports if way is None or name in way.imports]
    return list(dict.fromkeys((*_imported(imports), *_asked(code, way))))


def _way(code: SharedObject, entries: Collection[str]) -> Reached | None:
    """What is reached, where that decides anything; None: all of it counts."""
    known = entries and code.machine == "x86_64" and not too_large(code)
    if not known or not (may_be_rare(code) or any(_imported(code.imports))):
        return None
    return reached(code, entries)


def _imported(imports: Collection[str]) -> Iterator[Finding]:
    for symbol in imports:
        if symbol in EMITTED:
            continue
        parts = name_parts(symbol)
        for row in HOST_CPP:
            if row.tier != "block" or (row.member and len(parts) == 1):
                continue
            for part in parts:
                if row.names(part):
                    yield Finding("block", 0, part, f"{row.reason} (imported by its machine code)")


def _asked(code: SharedObject, way: Reached | None) -> Iterator[Finding]:
    for rare in rare_instructions(code, None if way is None else way.instructions):
        if rare.name == "cpuid" and OF_THE_COMPILER.fullmatch(rare.function):
            continue
        tier, reason = INSTRUCTIONS[rare.name]
        words = name_parts(rare.function)
        place = f"function `{words[-1] if words else rare.function}`" if rare.function else ""
        yield Finding(tier, 0, rare.name, f"{reason} (in its machine code)", place=place)
