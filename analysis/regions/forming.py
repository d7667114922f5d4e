"""Regions and stages.

A *stage* is what lies between two points of strong synchronisation (a CTA or cluster barrier, a
wait for an mbarrier or for asynchronous work, a fence) inside one loop level. A *region* is a run
of instructions of one phase within one block and stage. Compilers interleave what does not depend
on each other (load, load, FMA, load, load, FMA): runs are therefore found in dependency order. An
instruction joins the last region of its phase unless something that it needs comes later; then it
opens a new one. So no region needs one that comes after it, except round a loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ptx.effects import Effect, Phase
from .code import Code

_BRANCHES = ("bra", "brx", "ret", "exit", "trap")


@dataclass(slots=True)
class Run:
    """A region as it grows."""

    phase: Phase
    stage: int
    block: int
    instructions: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class Formed:
    """The regions of a function in dependency order, and which one each instruction is in."""

    runs: list[Run]
    run_of: list[int]
    stage_loops: list[int | None]
    """of each stage the innermost loop, by index"""


def form(code: Code) -> Formed:
    """Split a function into stages and regions; time linear in its instructions."""
    formed = Formed([], [0] * len(code.function.instructions), [])
    loop, worked = None, False
    for number, block in enumerate(code.blocks):
        if code.loop_of[number] != loop or not formed.stage_loops:
            loop = code.loop_of[number]
            formed.stage_loops.append(loop)
            worked = False
        segment = _Segment(code, formed, number)
        for index in range(block.first, block.last):
            does = code.effects[index]
            if does.row.waits:
                if worked:
                    formed.stage_loops.append(loop)
                    segment = _Segment(code, formed, number)
                worked = False
            elif does.phase is not Phase.sync and does.phase is not Phase.address:
                worked = True
            segment.put(index, does)
    return formed


class _Segment:
    """The part of a block that lies in one stage, while its regions are found."""

    def __init__(self, code: Code, formed: Formed, block: int) -> None:
        self._code = code
        self._formed = formed
        self._block = block
        self._first = len(formed.runs)
        self._made_by = dict[str, int]()
        """the region that writes a register here"""
        self._latest = dict[Phase, int]()
        self._stored, self._touched = dict[str, int](), dict[str, int]()
        """the last region that writes a space of memory, and that reads or writes it"""
        self._fixed = -1
        """the last region that keeps the order of everything in memory: synchronisation"""

    def put(self, index: int, does: Effect) -> None:
        """Add the next instruction."""
        phase = does.phase
        if phase is Phase.address and self._code.function.instructions[index].stem in _BRANCHES:
            run = self._last(phase)
        else:
            floor = self._needed(index, does)
            run = self._latest.get(phase, -1)
            if run < floor or run < 0:
                run = self._open(phase)
        self._formed.runs[run].instructions.append(index)
        self._formed.run_of[index] = run
        for register in self._code.written[index]:
            self._made_by[register] = run
        self._remember(run, does)

    def _needed(self, index: int, does: Effect) -> int:
        """The last region that must not come after this instruction."""
        floor, made_by = -1, self._made_by
        for register in self._code.read[index]:
            run = made_by.get(register, -1)
            if run > floor:
                floor = run
        row = does.row
        if row.reads:
            floor = max(floor, self._stored.get(row.reads, -1), self._fixed)
        if row.writes:
            floor = max(floor, self._touched.get(row.writes, -1), self._fixed)
        if does.phase is Phase.sync or does.phase is Phase.call or row.commits:
            floor = max(floor, self._fixed, max(self._touched.values(), default=-1))
        if row.starts and not row.reads:
            floor = max(floor, self._fixed)
        return floor

    def _remember(self, run: int, does: Effect) -> None:
        row = does.row
        for space in (row.reads, row.writes):
            if space and run > self._touched.get(space, -1):
                self._touched[space] = run
        if row.writes and run > self._stored.get(row.writes, -1):
            self._stored[row.writes] = run
        if row.starts and run > self._touched.get("", -1):
            self._touched[""] = run
        if does.phase is Phase.sync or does.phase is Phase.call:
            self._fixed = max(self._fixed, run)

    def _last(self, phase: Phase) -> int:
        """The last region, for a branch, which ends the block whatever it needs."""
        last = len(self._formed.runs) - 1
        return last if last >= self._first else self._open(phase)

    def _open(self, phase: Phase) -> int:
        self._formed.runs.append(Run(phase, len(self._formed.stage_loops) - 1, self._block))
        self._latest[phase] = len(self._formed.runs) - 1
        return self._latest[phase]
