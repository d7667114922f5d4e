"""Basic blocks of a function and how control goes from one to the next."""

from __future__ import annotations

from typing import NamedTuple

from ...runners.errors import SpecError
from ..ptx import Function, Instruction
from ..ptx.operands import branch_target

_LEAVES = ("ret", "exit", "trap")


class Block(NamedTuple):
    """Instructions `first` to `last - 1`, which run one after the other."""

    first: int
    last: int
    successors: tuple[int, ...]
    """blocks, by index; where a branch is taken or not, what follows in the text comes last"""


def blocks_of(function: Function) -> tuple[Block, ...]:
    """The blocks in the order of the text. Raises SpecError for a branch to nowhere."""
    code = function.instructions
    if not code:
        return ()
    targets = {
        index: tuple(_label(function, label, each) for label in _targets(function, each))
        for index, each in enumerate(code)
        if each.opcode.startswith("br") and each.stem in ("bra", "brx")
    }
    ends = {i + 1 for i, each in enumerate(code) if i in targets or each.opcode in _LEAVES}
    starts = sorted(
        {0} | {i for i in ends if i < len(code)} | {t for found in targets.values() for t in found}
    )
    starts = [each for each in starts if each < len(code)]
    number = {start: index for index, start in enumerate(starts)}
    lasts = [*starts[1:], len(code)]
    return tuple(
        Block(first, last, _successors(code[last - 1], targets.get(last - 1), last, number))
        for first, last in zip(starts, lasts, strict=True)
    )


def _targets(function: Function, branch: Instruction) -> tuple[str, ...]:
    target = branch_target(branch) or ""
    return function.tables.get(target, ()) if branch.stem == "brx" else (target,)


def _label(function: Function, label: str, branch: Instruction) -> int:
    found = function.labels.get(label)
    if found is None:
        raise SpecError(
            f"line {branch.line} of the PTX: a branch to {label.partition('@')[0]!r}, "
            f"which is no label of {function.name!r}",
            valid="a whole function as a compiler writes it",
            next_step="build the variant again and hand over the text of its PTX unchanged",
        )
    return found


def _successors(
    end: Instruction, targets: tuple[int, ...] | None, following: int, number: dict[int, int]
) -> tuple[int, ...]:
    found = [number[each] for each in targets or () if each in number]
    stays = targets is None and end.opcode not in _LEAVES
    if (stays or end.guard) and following in number:
        found.append(number[following])
    return tuple(dict.fromkeys(found))


def predecessors(blocks: tuple[Block, ...]) -> tuple[tuple[int, ...], ...]:
    """The blocks from which control comes to each."""
    found: list[list[int]] = [[] for _ in blocks]
    for index, block in enumerate(blocks):
        for successor in block.successors:
            found[successor].append(index)
    return tuple(map(tuple, found))


def reverse_postorder(blocks: tuple[Block, ...]) -> list[int]:
    """The blocks that control can reach, each before what it alone leads to."""
    order, seen = list[int](), {0}
    stack = [(0, iter(blocks[0].successors))] if blocks else []
    while stack:
        index, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, iter(blocks[successor].successors)))
                break
        else:
            order.append(index)
            stack.pop()
    return order[::-1]
