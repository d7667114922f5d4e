"""Blocks of a function that jump to each other, as choices within choices: what a kernel does that
returns early."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..expressions import Unreadable
from .parsing import Operation, Region

_TARGET = re.compile(r"\^[\w.]+")
DEEPEST = 24
"""jumps one after the other"""


def structured(blocks: Mapping[str, Region]) -> list[Operation]:
    """The operations of the first block, with those that a jump leads to in its place. A block that
    several jumps lead to is there as often. Raises Unreadable for a loop of jumps, and for blocks
    that are handed values."""
    first = next(iter(blocks))
    return _from(first, blocks, ())


def _from(name: str, blocks: Mapping[str, Region], before: tuple[str, ...]) -> list[Operation]:
    if name in before or len(before) > DEEPEST:
        raise Unreadable("a loop of jumps")
    if before and blocks[name].parameters:
        raise Unreadable("jumps that hand values over")
    *operations, last = blocks[name].operations
    targets = [*dict.fromkeys(_TARGET.findall(last.text))]
    if not last.name.startswith("cf."):
        return [*operations, last]
    if any(each not in blocks for each in targets) or len(targets) > 2:
        raise Unreadable(f"the operation {last.name}")
    after = [_from(each, blocks, (*before, name)) for each in targets]
    if len(after) == 1:
        return [*operations, *after[0]]
    ways = [Region((), each) for each in after]
    return [*operations, Operation("scf.if", (), last.operands[:1], "scf.if", ways)]
