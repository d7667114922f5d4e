"""Software pipelines: how far asynchronous work of a loop runs ahead of its use."""

from __future__ import annotations

from typing import NamedTuple

from ..ptx.operands import integer, split
from .code import Code

_GROUPS = {"cp_async", "bulk", "wgmma", "tcgen05"}


class Pipeline(NamedTuple):
    """One kind of asynchronous work that a loop waits for."""

    loop: int
    """index of the loop"""
    kind: str
    """cp_async, bulk, wgmma or mbarrier"""
    left: int | None
    """groups that may still run after the wait (its operand); None: waited for by mbarrier"""
    commits: int
    """groups that an iteration closes; of mbarriers, copies that it issues"""
    barriers: int
    """mbarriers that the kernel initialises; 0 for groups"""

    @property
    def ahead(self) -> int | None:
        """Iterations whose work is under way at once, at most: groups that are left running, in
        iterations, and the one that is waited for. None where mbarriers hide it."""
        if self.left is None or not self.commits:
            return None
        return self.left // self.commits + 1


def pipelines_of(code: Code) -> tuple[Pipeline, ...]:
    """The pipelines of all loops; a loop that only waits for what came before has none."""
    instructions = code.function.instructions
    barriers = sum(each.opcode.startswith("mbarrier.init") for each in instructions)
    left, commits = dict[tuple[int, str], int | None](), dict[tuple[int, str], int]()
    for number, block in enumerate(code.blocks):
        loop = code.loop_of[number]
        if loop is None:
            continue
        for index in range(block.first, block.last):
            row = code.effects[index].row
            if row.waits in _GROUPS:
                found = _groups_left(instructions[index].operands)
                before = left.get((loop, row.waits))
                left[loop, row.waits] = max(found, before or 0)
            elif row.waits == "mbarrier":
                left[loop, "mbarrier"] = None
            kind = row.commits or ("mbarrier" if row.starts == "mbarrier" else "")
            if kind:
                commits[loop, kind] = commits.get((loop, kind), 0) + 1
    return tuple(
        Pipeline(loop, kind, groups, commits[loop, kind], barriers if kind == "mbarrier" else 0)
        for (loop, kind), groups in sorted(left.items(), key=lambda each: each[0])
        if (loop, kind) in commits
    )


def _groups_left(operands: str) -> int:
    """The N of `wait_group N`; `wait_all` leaves none."""
    found = split(operands)
    return (integer(found[0]) or 0) if found else 0
