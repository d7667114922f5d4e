"""Counters of machine instructions summed by the line of source that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath

from ...runners.model import Record
from ...runners.profiling.model import Instruction
from ...runners.profiling.wanted import SAMPLES, STALL

ISSUED = frozenset({"selected", "not_selected"})
"""reasons of samples in which a warp was ready: no stalls"""


class LineCount(Record):
    """What was counted at a line, or at one instruction where there are no line tables."""

    place: str
    """`kernel.cu:12`, or `+0x1a0`"""
    count: float
    share: float
    """of all that was counted"""
    sass: str
    """the instruction of the line with the most"""


def by_line(
    instructions: Iterable[Instruction], counter: str, ideal: str = ""
) -> tuple[LineCount, ...]:
    """The lines with a count, most first. With `ideal`, what exceeds that counter is counted."""
    counts = dict[str, dict[str, float]]()
    for each in instructions:
        number = each.counters.get(counter, 0.0) - each.counters.get(ideal, 0.0)
        if number > 0:
            at = counts.setdefault(place(each), {})
            at[each.sass] = at.get(each.sass, 0.0) + number
    whole = sum(sum(at.values()) for at in counts.values())
    found = [_line(where, at, whole) for where, at in counts.items()]
    return tuple(sorted(found, key=lambda line: -line.count))


def stalls_at(instructions: Iterable[Instruction], where: str) -> dict[str, float]:
    """Samples at a place by the reason why the warp did not issue, most first."""
    reasons = dict[str, float]()
    for each in instructions:
        if place(each) == where:
            for name, number in each.counters.items():
                if name.startswith(STALL):
                    reason = name.removeprefix(STALL)
                    reasons[reason] = reasons.get(reason, 0.0) + number
    return dict(sorted(reasons.items(), key=lambda item: -item[1]))


def hottest(instructions: tuple[Instruction, ...]) -> tuple[float, float] | None:
    """Of the line with the most samples: its share of all, and that of its first stall reason
    among its own. None without samples."""
    lines = by_line(instructions, SAMPLES)
    if not lines:
        return None
    stalls = stalls_at(instructions, lines[0].place)
    most = max((n for reason, n in stalls.items() if reason not in ISSUED), default=0.0)
    return lines[0].share, most / lines[0].count


def place(instruction: Instruction) -> str:
    """`kernel.cu:12`; `+0x1a0` of an instruction without a line."""
    if instruction.line:
        return f"{PurePath(instruction.file).name}:{instruction.line}"
    function = f"function {instruction.function} " if instruction.function else ""
    return f"{function}+{instruction.offset:#x}"


def opcode(sass: str) -> str:
    """`REDG` of `@!P0 REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R7`; empty where there is none."""
    word = next((word for word in sass.split() if not word.startswith("@")), "")
    return word.partition(".")[0]


def _line(where: str, counts: Mapping[str, float], whole: float) -> LineCount:
    count = sum(counts.values())
    most = max(counts, key=lambda sass: counts[sass])
    return LineCount(place=where, count=count, share=count / whole, sass=most)
