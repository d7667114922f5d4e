"""A kernel that does one element a thread, written anew: guards, the work, names that are free."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .....runners.c_source.nodes import text_of
from .....runners.specs.part import Expression
from ...shared.edits import Edit, edited, indent_of, reindented, whole_lines, with_comments
from .per_element import PerElement
from .reading import names_in_code


def guard_lines(element: PerElement, tab: str) -> list[str]:
    """What ends a thread that has no element at all; nothing where the bound alone says so."""
    guards = [text_of(g) for g in element.guards]
    if not guards:
        return []
    test = " || ".join(guards) if element.returns else f"!({' && '.join(guards)})"
    return [f"{tab}if ({test}) return;"]


def work_lines(element: PerElement, tab: str, changes: Sequence[Edit] = ()) -> list[str]:
    """The work on one element as it stands, with changes of the source within it."""
    text = element.kernel.text
    pieces: list[str] = []
    for start, end in with_comments(text, element.body):
        inside = [e for e in changes if start <= e.start and e.end <= end]
        piece = edited(text, inside, start, end)
        pieces.append(reindented(piece, indent_of(text, start), tab))
    return pieces


def with_work(element: PerElement, lines: Iterable[str]) -> str:
    """The source with these lines in place of the work, and without what the work needed before.

    The first line may have blanks: those that the source has there stay.
    """
    text = element.kernel.text
    start, end = element.work.start_byte, element.kernel.body.named_children[-1].end_byte
    gone = [Edit(*whole_lines(text, n.start_byte, n.end_byte), "") for n in element.gone]
    return edited(text, [Edit(start, end, "\n".join(lines).lstrip()), *gone])


def free_name(element: PerElement, name: str) -> str:
    """The name, with underscores where the source has it already."""
    root = element.kernel.body
    while root.parent is not None:
        root = root.parent
    taken = names_in_code(root)
    while name in taken:
        name += "_"
    return name


def fewer_blocks(blocks: Expression, times: int) -> Expression:
    """Blocks along an axis where each does so many times more: of cdiv(n, 256) cdiv(n, 1024)."""
    if isinstance(blocks, int):
        return -(-blocks // times)
    simple = re.fullmatch(r"cdiv\(([\w\s*]+), (\d+)\)", blocks)
    if simple is None:
        return f"cdiv({blocks}, {times})"
    return f"cdiv({simple[1]}, {int(simple[2]) * times})"


def block_and_grid(wide: str) -> tuple[str, str]:
    """The number of the block along x, and how many there are, for products in a type."""
    names = "blockIdx.x", "gridDim.x"
    if wide == "unsigned":
        return names
    block, grid = (f"static_cast<{wide}>({name})" for name in names)
    return block, grid
