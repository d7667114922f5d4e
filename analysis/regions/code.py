"""What every analysis of a function asks for, found once: effects, definitions, blocks, loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..ptx import Function
from ..ptx.effects import Effect, effect
from ..ptx.registers import accesses
from .flow import Block, blocks_of, reverse_postorder
from .loops import Loop, dominators, innermost, loops_of

MAX_DEFINITIONS = 16
"""of one register that are looked at one by one; compilers write a few, where paths meet"""


@dataclass(frozen=True, slots=True)
class Code:
    """A function with what its instructions do. Lists run along its instructions or blocks."""

    function: Function
    effects: list[Effect]
    written: list[list[str]]
    read: list[list[str]]
    definitions: Mapping[str, list[int]]
    """the instructions that write a register, in the order of the text"""
    blocks: tuple[Block, ...]
    block_of: list[int]
    """of each instruction its block"""
    dominator: list[int | None]
    rank: list[int]
    """of each block its place in reverse postorder; what is never reached comes last"""
    loops: tuple[Loop, ...]
    irreducible: bool
    """whether any loop has several entries"""
    loop_of: list[int | None]
    """of each block the innermost loop; loops that only wait (`spins`) are left out"""
    spins: frozenset[int]
    """indices of loops that do nothing but ask an mbarrier again"""

    def block_at(self, index: int) -> int:
        """The block of an instruction."""
        return self.block_of[index]

    def loops_around(self, block: int) -> Iterator[int]:
        """The loops around a block, by index, the innermost first."""
        loop = self.loop_of[block]
        while loop is not None:
            yield loop
            loop = self.loops[loop].parent

    def may_follow(self, one: int, other: int) -> bool:
        """Whether control may come from the end of a block to another: forwards in reverse
        postorder, or round a loop. Round one, it gets to what follows the loop's header; with a
        loop that has several entries anything may follow anything."""
        first, second = self.rank[one], self.rank[other]
        if first < second or self.irreducible:
            return True
        around = self.loops_around(one)
        return any(self.rank[self.loops[loop].header] <= second for loop in around)


def code_of(function: Function) -> Code:
    """Read a function once. Raises SpecError for a branch to nowhere."""
    instructions = function.instructions
    effects = [effect(each.opcode) for each in instructions]
    written, read = list[list[str]](), list[list[str]]()
    definitions = dict[str, list[int]]()
    for index, (each, does) in enumerate(zip(instructions, effects, strict=True)):
        into, out_of = accesses(each, does)
        written.append(into)
        read.append(out_of)
        for register in into:
            found = definitions.get(register)
            if found is None:
                definitions[register] = [index]
            else:
                found.append(index)
    blocks = blocks_of(function)
    dominator = dominators(blocks)
    rank = {block: place for place, block in enumerate(reverse_postorder(blocks))}
    loops = loops_of(blocks, dominator)
    spins = frozenset(n for n, loop in enumerate(loops) if _only_waits(loop, blocks, effects))
    kept = tuple(loop for n, loop in enumerate(loops) if n not in spins)
    deepest = innermost(kept, len(blocks))
    number = {id(loop): n for n, loop in enumerate(loops)}
    return Code(
        function=function,
        effects=effects,
        written=written,
        read=read,
        definitions=definitions,
        blocks=blocks,
        block_of=[n for n, block in enumerate(blocks) for _ in range(block.first, block.last)],
        dominator=dominator,
        rank=[rank.get(each, len(blocks)) for each in range(len(blocks))],
        loops=loops,
        irreducible=any(loop.irreducible for loop in loops),
        loop_of=[None if n is None else number[id(kept[n])] for n in deepest],
        spins=spins,
    )


def _only_waits(loop: Loop, blocks: tuple[Block, ...], effects: list[Effect]) -> bool:
    phases = {
        effects[index].phase
        for block in loop.blocks
        for index in range(blocks[block].first, blocks[block].last)
    }
    asks = any(
        effects[index].row.waits == "mbarrier"
        for block in loop.blocks
        for index in range(blocks[block].first, blocks[block].last)
    )
    return asks and phases <= {"sync", "address"}
