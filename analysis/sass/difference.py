"""How the machine code of two variants differs: instructions by what they do, and by name.

Counts are of the text, not of what is executed: a loop's body counts once, and what was unrolled
counts as often as it stands there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...runners.model import Record
from .module import SassInstruction

OPCODES = 12
"""that are told, those that differ most"""


class SassDifference(Record):
    """What another kernel has more or less of; what is the same is left out."""

    instructions: str
    """`120 -> 96`; one number: as many"""
    classes: dict[str, str]
    """by what they do: `global_load`: `8 -> 2`"""
    opcodes: dict[str, str]
    """with modifiers: `LDG.E.128`: `0 -> 2`; those that differ most"""
    left_out: int = 0
    """further opcodes that differ"""
    same_order: bool = False
    """the opcodes are the same in the same order: registers, addresses or constants may differ"""


def sass_difference(
    before: Sequence[SassInstruction], after: Sequence[SassInstruction]
) -> SassDifference | None:
    """From one kernel to another; None: one of them was not listed, so that nothing has a name."""
    names = [[each.opcode for each in code] for code in (before, after)]
    if not all(name for code in names for name in code):
        return None
    classes = [Counter[str](each.kind for each in code) for code in (before, after)]
    opcodes = _differing(Counter(names[0]), Counter(names[1]))
    return SassDifference(
        instructions=_told(len(before), len(after)),
        classes=dict(_differing(*classes)),
        opcodes=dict(opcodes[:OPCODES]),
        left_out=max(0, len(opcodes) - OPCODES),
        same_order=names[0] == names[1],
    )


def _differing(before: Counter[str], after: Counter[str]) -> list[tuple[str, str]]:
    """Names with both counts, the largest difference first."""
    names = [name for name in {**before, **after} if before[name] != after[name]]
    names.sort(key=lambda name: (-abs(before[name] - after[name]), name))
    return [(name, _told(before[name], after[name])) for name in names]


def _told(before: int, after: int) -> str:
    return str(before) if before == after else f"{before} -> {after}"
