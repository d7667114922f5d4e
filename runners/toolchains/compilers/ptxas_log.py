"""What `ptxas -v` says of each kernel, as KernelFacts.

Its lines, as ptxas 12.8 and 13.0 print them (stderr; NVRTC puts the same into its log):

    ptxas info    : Compiling entry function 'NAME' for 'sm_90a'
    ptxas info    : Function properties for NAME
        8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ptxas info    : Used 24 registers, used 1 barriers, 8 bytes cumulative stack size, 9 bytes smem
"""

from __future__ import annotations

import re

from ...model import KernelFacts

MAX_WARNINGS = 10
_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '([^']+)' for")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(.*)")
_SHARED = re.compile(r"(\d+) bytes smem")
_STACK = re.compile(r"(\d+) bytes cumulative stack size")
_WARNING = re.compile(r"ptxas.*(\bwarning\b|Potential Performance Loss)", re.IGNORECASE)


def kernel_facts(log: str) -> dict[str, KernelFacts]:
    """Registers, spills, stack and shared memory by the name of the kernel in machine code.

    Of functions that are called and not inlined, spills and stack count with the kernel whose
    lines come before theirs.
    """
    facts: dict[str, KernelFacts] = {}
    entry = ""
    for line in log.splitlines():
        if head := _ENTRY.search(line):
            entry = head[1]
            facts[entry] = KernelFacts(entry=entry, spill_bytes=0, stack_bytes=0, static_shared=0)
        elif entry and (found := _numbers(line, facts[entry])):
            facts[entry] = facts[entry].model_copy(update=found)
    return facts


def _numbers(line: str, known: KernelFacts) -> dict[str, int]:
    if frame := _FRAME.search(line):
        stack, stores, loads = map(int, frame.groups())
        return {
            "stack_bytes": max(stack, known.stack_bytes or 0),
            "spill_bytes": stores + loads + (known.spill_bytes or 0),
        }
    if used := _USED.search(line):
        shared, stack = _SHARED.search(used[2]), _STACK.search(used[2])
        return {
            "registers": int(used[1]),
            "static_shared": int(shared[1]) if shared else 0,
            "stack_bytes": max(int(stack[1]) if stack else 0, known.stack_bytes or 0),
        }
    return {}


def ptxas_warnings(log: str) -> tuple[str, ...]:
    """The first warnings, and losses of performance that it foresees; one line each."""
    found = [line.strip() for line in log.splitlines() if _WARNING.match(line.strip())]
    return tuple(dict.fromkeys(found))[:MAX_WARNINGS]
