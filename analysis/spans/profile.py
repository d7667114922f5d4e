"""What was counted while a kernel ran, by machine instruction, and summed by line of source.

The counters are those of Nsight Compute, under its names (`runners/profiling/wanted.py`). It says
none that is 0: a counter that no instruction of a kernel has is None in every sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...runners.profiling.model import Instruction, KernelProfile
from ...runners.profiling.wanted import SAMPLES, STALL
from ..profile.lines import ISSUED
from .code import KernelCode, lines_of

EXECUTED = "inst_executed"
SECTORS, IDEAL_SECTORS = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)
WAVEFRONTS, IDEAL_WAVEFRONTS = "memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"


@dataclass(frozen=True, slots=True)
class Counts:
    """Counters of one instruction, or of several together; None: not collected, or 0 throughout."""

    executed: float | None = None
    """by warps"""
    samples: float | None = None
    """of the program counter"""
    stalls: tuple[tuple[str, float], ...] = ()
    """samples by the reason why the warp did not issue, the most frequent first"""
    sectors: float | None = None
    """of 32 bytes, asked of global memory"""
    sectors_needed: float | None = None
    """that the bytes would need if they lay side by side"""
    requests: float | None = None
    """executions by warps of the instructions that asked for sectors"""
    bank_conflicts: float | None = None
    """passes through shared memory beyond those that its width demands"""


@dataclass(frozen=True, slots=True)
class LineProfile:
    """One launch of a kernel: counters by the offset of the machine instruction, in bytes from the
    kernel's start."""

    kernel: str
    by_offset: Mapping[int, Mapping[str, float]]
    collected: frozenset[str]
    """metrics that were counted at any instruction"""
    elsewhere: int
    """instructions of other functions, whose offsets start anew: they are in no sum"""


def line_profile(profile: KernelProfile) -> LineProfile:
    """The counters of a launch by offset; a report says those of the first function first."""
    own = [each for each in profile.instructions if each.function == 0]
    return LineProfile(
        kernel=profile.kernel,
        by_offset={each.offset: each.counters for each in own},
        collected=frozenset(name for each in own for name in each.counters),
        elsewhere=len(profile.instructions) - len(own),
    )


def other_build(profile: KernelProfile, code: KernelCode) -> str:
    """Why the counters of a launch are not of this machine code, in words; empty when they may be.

    Another compiler, or another source, moves instructions, and an offset alone does not say which
    one was meant. So each counted instruction must be here, with the same opcode where a listing
    names ours, and from the same line of source where both sides know theirs: that of the PTX, or
    that of the machine code's own table, which is what a report names.
    """
    own = [each for each in profile.instructions if each.function == 0]
    others = [each for each in own if not _may_be(each, code)]
    if not others:
        return ""
    return (
        f"{len(others)} of its {len(own)} instructions are not those of this build, the first "
        f"at {others[0].offset:#06x}"
    )


def _may_be(counted: Instruction, code: KernelCode) -> bool:
    ours = code.by_offset.get(counted.offset)
    if ours is None:
        return False
    opcodes = [word for word in counted.sass.split() if not word.startswith("@")]
    if ours.opcode and opcodes and _stem(ours.opcode) != _stem(opcodes[0]):
        return False
    # a report names one line of a call that was inlined: the innermost, or the caller's; 0 is what
    # compilers write for code of no line of its own
    lines = {frame.line for frame in (*ours.place, *code.listed[counted.offset])}
    return not lines or not counted.line or counted.line in lines


def _stem(opcode: str) -> str:
    """Without modifiers, which disassemblers of different releases spell differently."""
    return opcode.partition(".")[0]


def counts_at(profile: LineProfile, offsets: Iterable[int]) -> Counts:
    """The counters of some instructions together."""
    sums = dict.fromkeys(profile.collected, 0.0)
    found = [profile.by_offset.get(offset, {}) for offset in offsets]
    for counters in found:
        for name, value in counters.items():
            sums[name] += value
    wavefronts, ideal = sums.get(WAVEFRONTS), sums.get(IDEAL_WAVEFRONTS, 0.0)
    reasons = {n.removeprefix(STALL): v for n, v in sums.items() if n.startswith(STALL) and v}
    stalls = {name: value for name, value in reasons.items() if name not in ISSUED}
    asked = sum(each.get(EXECUTED, 0.0) for each in found if SECTORS in each)
    return Counts(
        executed=sums.get(EXECUTED),
        samples=sums.get(SAMPLES),
        stalls=tuple(sorted(stalls.items(), key=lambda stall: (-stall[1], stall[0]))),
        sectors=sums.get(SECTORS),
        sectors_needed=sums.get(IDEAL_SECTORS),
        requests=asked or None,
        bank_conflicts=None if wavefronts is None else max(0.0, wavefronts - ideal),
    )


def counts_by_line(profile: LineProfile, code: KernelCode, source: str) -> dict[int, Counts]:
    """Sums for every line of a source at whose instructions anything was counted.

    An instruction of a call counts for each line of its chain, as in `LineCode.sass`.
    """
    offsets = dict[int, list[int]]()
    for each in code.sass:
        if each.offset in profile.by_offset:
            for line in dict.fromkeys(lines_of(each.place, source)):
                offsets.setdefault(line, []).append(each.offset)
    return {line: counts_at(profile, offsets[line]) for line in sorted(offsets)}
