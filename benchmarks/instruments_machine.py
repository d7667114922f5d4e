"""What machine instructions move and compute, and which of them no PTX asks for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from kernelwright.analysis.sass.classes import class_of
from kernelwright.runners.profiling.model import Instruction

EXECUTED = "inst_executed"
NEVER = "@!PT"
"""the guard of an instruction that no thread takes part in"""
OWN = {
    NEVER: "no thread takes part (@!PT)",
    "ELECT": "a thread is elected to start a bulk copy",
    "WARPSYNC": "threads of a warp meet again",
}
"""of which PTX says nothing: by opcode or guard, why they are there (listings of ptxas 12.8 and
13.0)"""
REPEATED = (
    (
        ("mbarrier.try_wait", "mbarrier.test_wait"),
        ("SYNCS.PHASECHK",),
        "an mbarrier is asked again",
    ),
    (("fence", "membar"), ("FENCE", "MEMBAR", "ERRBAR", "CCTL"), "a fence takes several"),
)
"""opcodes of PTX, those of the machine, and why these may be more. How many more no text tells: of
these PTX is a lower bound, and what is beyond it has this reason"""
UNLIKE = {"wgmma.fence": "sync", "wgmma.commit_group": ""}
"""opcodes of PTX whose class in machine code is another: WARPGROUP.ARRIVE; a mark of the HGMMA
before it, no instruction"""
SIZED = ("global_load", "global_store", "shared", "local")
_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_WARPGROUP = re.compile(r"\.(\d+)x(\d+)x(\d+)\b")
_WARP = re.compile(r"\.(16|8)(8)(\d+)\b|\.(\d+)x(\d+)x(\d+)\b")

Counts = Mapping[str, float]


def executed_opcodes(instructions: Iterable[Instruction]) -> Counts:
    """`STS.128` -> executions by warps, in the whole launch; the guard stands before what no thread
    takes part in. Empty where the report has no machine code."""
    found = defaultdict[str, float](float)
    for each in instructions:
        words = each.sass.split()
        guard = words.pop(0) if words and words[0].startswith("@") else ""
        if words:
            opcode = words[0].rstrip(";")
            name = f"{NEVER} {opcode}" if guard == NEVER else opcode
            found[name] += each.counters.get(EXECUTED, 0.0)
    return {opcode: number for opcode, number in found.items() if number}


def added(opcodes: Counts, ptx: Counts, of_class: str) -> dict[str, float]:
    """Executions in a class that PTX does not ask for, by reason. `ptx`: those that it does ask
    for, by opcode."""
    found = defaultdict[str, float](float)
    for opcode, number in opcodes.items():
        guard, _, bare = opcode.rpartition(" ")
        why = OWN.get(guard) or OWN.get(bare.partition(".")[0])
        if why and class_of(bare) == of_class:
            found[why] += number
    for asked, done, why in REPEATED:
        wanted = sum(n for o, n in ptx.items() if o.startswith(asked))
        here = sum(n for o, n in opcodes.items() if o.startswith(done) and class_of(o) == of_class)
        if 0 < wanted < here:
            found[why] += here - wanted
    return dict(found)


def moved(opcodes: Counts, of_class: str) -> float:
    """Bytes that the accesses of a class move, for one thread of each warp that executes them."""
    return sum(
        number * width(opcode)
        for opcode, number in opcodes.items()
        if not opcode.startswith(NEVER) and class_of(opcode) == of_class
    )


def width(opcode: str) -> int:
    """Bytes of a thread: 16 of `LDS.128`, and of `LDSM.16.M88.4`, which has four words."""
    parts = opcode.split(".")
    if parts[0] in ("LDSM", "STSM"):
        return 4 * int(parts[-1]) if parts[-1] in ("2", "4") else 4
    return next((_WIDTHS[each] for each in parts if each in _WIDTHS), 4)


def tensor_flops(opcodes: Counts) -> float:
    """FLOPs of tensor cores; 2 M N K of each shape, of which a warp of a warpgroup does a
    quarter."""
    return sum(number * flops(opcode) for opcode, number in opcodes.items())


def flops(opcode: str) -> float:
    """Of one execution by a warp: `HGMMA.64x256x16.F32`, `HMMA.16816.F32`; 0 of what has none."""
    if class_of(opcode) != "tensor":
        return 0.0
    together = opcode.partition(".")[0].endswith("GMMA")
    found = (_WARPGROUP if together else _WARP).search(opcode)
    if found is None:
        return 0.0
    m, n, k = (int(each) for each in found.groups() if each)
    return 2.0 * m * n * k / (4 if together else 1)
