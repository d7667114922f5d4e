"""Work: what instructions move and compute, for one thread and one execution.

There are no times here. Counts are those of the text: a thread that a guard or a branch keeps from
an instruction does less, so that work under a guard is an upper bound (`guarded` says how much).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..ptx.effects import Phase
from ..ptx.operands import split
from .code import Code
from .symbols import Slicer


class Traffic(NamedTuple):
    """One kind of access to memory."""

    space: str
    """global, shared, local, or generic where the text does not say"""
    direction: str
    """load, store, atomic; "bulk load" and "bulk store": one thread has them done for its block"""
    width: int
    """bytes of one access; a thread's share of what a warp moves together"""


@dataclass(frozen=True, slots=True)
class Work:
    """Counts of one thread."""

    instructions: int = 0
    accesses: Mapping[Traffic, int] = field(default_factory=dict[Traffic, int])
    """how many of each kind"""
    flops: Mapping[str, int] = field(default_factory=dict[str, int])
    """by kind: "fma.f32", "tensor.f16.m64n64k16" (a thread's share), "special" (one each)"""
    guarded: int = 0
    """accesses and FLOP instructions under a predicate, and asynchronous copies that may be told
    to read less than they write (a fourth operand)"""
    unsized: int = 0
    """bulk copies whose size only a tensor map or a register knows"""

    def bytes(self, space: str = "", direction: str = "") -> int:
        """Bytes in one space, or all; of one direction, or all."""
        return sum(
            count * each.width
            for each, count in self.accesses.items()
            if (not space or each.space == space) and direction in each.direction
        )

    @property
    def atomics(self) -> int:
        """Atomic operations."""
        return sum(n for each, n in self.accesses.items() if each.direction == "atomic")

    @property
    def tensor_flops(self) -> int:
        """A thread's share of the FLOPs of tensor cores."""
        return sum(n for kind, n in self.flops.items() if kind.startswith("tensor"))

    @property
    def plain_flops(self) -> int:
        """FLOPs of neither tensor cores nor special functions."""
        return sum(
            n for kind, n in self.flops.items() if not kind.startswith(("tensor", "special"))
        )

    @property
    def special(self) -> int:
        """Special functions."""
        return self.flops.get("special", 0)


def total(parts: Iterable[tuple[Work, int]]) -> Work:
    """The sum of works, each as often as the number beside it says."""
    accesses, flops = Counter[Traffic](), Counter[str]()
    instructions = guarded = unsized = 0
    for work, times in parts:
        instructions += work.instructions * times
        guarded += work.guarded * times
        unsized += work.unsized * times
        for each, count in work.accesses.items():
            accesses[each] += count * times
        for kind, count in work.flops.items():
            flops[kind] += count * times
    return Work(instructions, dict(accesses), dict(flops), guarded, unsized)


def work_of(code: Code, indices: Iterable[int], slicer: Slicer) -> Work:
    """The work of these instructions, each executed once."""
    accesses, flops = dict[Traffic, int](), dict[str, int]()
    count = guarded = unsized = 0
    for index in indices:
        count += 1
        does = code.effects[index]
        row = does.row
        if does.flops:
            flops[does.kind] = flops.get(does.kind, 0) + does.flops
        elif not (row.reads or row.writes):
            continue
        if code.function.instructions[index].guard or _masked(code, index):
            guarded += 1
        if not does.flops:
            found = _traffic(code, index, slicer)
            unsized += not found
            for each in found:
                accesses[each] = accesses.get(each, 0) + 1
    return Work(count, accesses, flops, guarded, unsized)


def _masked(code: Code, index: int) -> bool:
    operands = code.function.instructions[index].operands
    return code.effects[index].row.starts == "cp_async" and operands.count(",") > 2


def _traffic(code: Code, index: int, slicer: Slicer) -> tuple[Traffic, ...]:
    """The accesses of one instruction; none where it does not say how much it moves."""
    does = code.effects[index]
    row = does.row
    if row.phase is Phase.async_copy:
        size = _copied_bytes(code, index, slicer)
        if size is None:
            return ()
        bulk = "" if row.starts == "cp_async" else "bulk "
        return (Traffic(row.reads, f"{bulk}load", size), Traffic(row.writes, f"{bulk}store", size))
    width = does.nbytes or 0
    if row.phase is Phase.atomic:
        return (Traffic(row.writes, "atomic", width),)
    return (Traffic(row.reads or row.writes, "load" if row.reads else "store", width),)


def _copied_bytes(code: Code, index: int, slicer: Slicer) -> int | None:
    """Bytes of an asynchronous copy, its third operand: a literal or a register that holds a
    number; None: only a tensor map says it, or what is known at run time."""
    instruction = code.function.instructions[index]
    operands = split(instruction.operands)
    if ".tensor." in instruction.opcode or len(operands) < 3:
        return None
    size = slicer.operand(index, operands[2])
    return None if size is None else size.number
