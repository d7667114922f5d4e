"""Masks that stand several times in a block of lines get a name before the first one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....shared.lifted.names import Names

WANTED = "inside"


def with_named_masks(lines: Sequence[str], masks: Iterable[str], names: Names) -> list[str]:
    """The lines, each mask that several of one block use under a name."""
    found = list(lines)
    for mask in sorted(masks, key=len, reverse=True):
        for block in reversed([*_blocks(found, f"mask={mask}")]):
            if len(block) < 2:
                continue
            name = names.fresh(WANTED)
            first = found[block[0]]
            tab = first[: len(first) - len(first.lstrip())]
            for at in block:
                found[at] = _renamed(found[at], mask, name)
            found.insert(block[0], f"{tab}{name} = {mask}")
    return found


def _blocks(lines: Sequence[str], text: str) -> list[list[int]]:
    """The lines that hold a text, by the blocks in which the first of them stands."""
    made = list[list[int]]()
    least = -1
    for at, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if depth < least:
            least = -1
        if text in line and _ends(line, text):
            if least < 0:
                made.append([])
                least = depth
            made[-1].append(at)
    return made


def _ends(line: str, text: str) -> bool:
    """Whether the mask goes no further than the text."""
    at = line.index(text) + len(text)
    return line[at : at + 1] in (",", ")")


def _renamed(line: str, mask: str, name: str) -> str:
    return line.replace(f"mask={mask},", f"mask={name},").replace(f"mask={mask})", f"mask={name})")
