"""Which branches may part the threads of a block: by data flow from %tid, %laneid and from values
loaded at addresses that differ between threads.

A register that only parameters, %ctaid and the like reach is uniform in its block. What a thread
keeps because another branch parted it before (control dependence) is left out: a uniform flag is
therefore said of the data alone.
"""

from __future__ import annotations

from enum import IntFlag

from ..ptx import Instruction
from ..ptx.operands import split
from .code import Code


class Varies(IntFlag):
    """Why a register may differ between the threads of a block."""

    no = 0
    thread = 1
    """it depends on the number of the thread"""
    data = 2
    """it depends on a value loaded at an address that differs between threads"""


_MASKS = ("eq", "le", "lt", "ge", "gt")
_THREAD = {"%tid", "%laneid", "%warpid", *(f"%lanemask_{each}" for each in _MASKS)}
_UNIFORM = ("vote.", "redux.", "bar.red", "barrier.red", "activemask")
"""the same for every thread that takes part, whatever it is computed from"""
_OWN = ("atom.", "elect.")
"""another value for each thread: what an atomic met, and whether it was elected"""


def varying(code: Code) -> dict[str, Varies]:
    """Of each register that may differ between threads, why."""
    found = dict[str, int]()  # plain integers: this loop sees every register of the kernel
    users = dict[str, list[int]]()
    pending = list[int]()
    for index, read in enumerate(code.read):
        for register in read:
            if register in code.definitions:
                users.setdefault(register, []).append(index)
            elif register in _THREAD:
                pending.append(index)
        if code.function.instructions[index].opcode.startswith(_OWN):
            pending.append(index)
    while pending:
        index = pending.pop()
        why = _why(code, index, found)
        for register in code.written[index]:
            before = found.get(register, 0)
            if why & ~before:
                found[register] = before | why
                pending += users.get(register, ())
    return {register: Varies(why) for register, why in found.items()}


def _why(code: Code, index: int, found: dict[str, int]) -> int:
    instruction = code.function.instructions[index]
    opcode = instruction.opcode
    if opcode.startswith(_UNIFORM) or _from_one_lane(instruction):
        return 0
    if opcode.startswith(_OWN):
        return 2 if opcode.startswith("atom") else 1
    why = 0
    for register in code.read[index]:
        why |= found.get(register, 0)
        if register in _THREAD:
            why |= 1
    return 2 if why and code.effects[index].row.reads else why


def _from_one_lane(instruction: Instruction) -> bool:
    """`shfl.sync.idx` from a lane with a number: every thread of the warp gets the same."""
    if not instruction.opcode.startswith("shfl.sync.idx"):
        return False
    operands = split(instruction.operands)
    return len(operands) > 3 and operands[2].isdigit() and operands[3] in ("31", "0x1f", "0x1F")


def divergence_of_branches(code: Code, varies: dict[str, Varies]) -> dict[int, Varies]:
    """Of the index of every conditional branch (and `brx`), why it may part a block."""
    found = dict[int, Varies]()
    for block in code.blocks:
        last = block.last - 1
        instruction = code.function.instructions[last]
        if instruction.stem in ("bra", "brx", "ret", "exit") and code.read[last]:
            why = Varies.no
            for register in code.read[last]:
                why |= varies.get(register, Varies.no)
            found[last] = why
    return found
