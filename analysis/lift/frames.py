"""A function of PTX while it is executed on expressions: its blocks, loops, and values so far; and
values of variables where paths meet or a loop comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ..ptx import Function
from ..regions.flow import Block, blocks_of
from ..regions.loops import Loop, dominators, loops_of
from .expressions import Call, Expr, Name, Pointer, Unreadable, call
from .machine import as_type

Values = dict[str, Expr]
"""registers and parameters (`3:%r1`: of the third function that was entered), and pieces of local
memory (`@depot+4:4`: the four bytes from the fourth)"""


@dataclass(slots=True)
class Turn:
    """One iteration of a loop while it is executed."""

    loop: Loop
    depth: int
    """conditions around what runs in every iteration"""
    stay: Expr | None = None
    """what holds where the loop goes on"""
    leaves_to: int = -1
    at_exit: Values = field(default_factory=Values)
    before: int = 0
    """statements made before the test"""
    last: bool = False
    """whether the test ends the iteration"""
    single: bool = False
    """one of a loop that is executed turn by turn: no test of it may be left open"""


@dataclass
class Frame:
    """A function that was entered."""

    function: Function
    prefix: str
    turns: list[Turn] = field(default_factory=list[Turn])

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """In the order of the text."""
        return blocks_of(self.function)

    @cached_property
    def headers(self) -> dict[int, Loop]:
        """Loops by the block through which they are entered."""
        loops = loops_of(self.blocks, dominators(self.blocks))
        if any(loop.irreducible for loop in loops):
            raise Unreadable("a loop with several entries")
        return {loop.header: loop for loop in loops}

    @cached_property
    def joins(self) -> list[int | None]:
        """Of each block, where all paths from it meet again; None: at the end of the function."""
        count = len(self.blocks)
        backwards: list[list[int]] = [[] for _ in range(count + 1)]
        for index, block in enumerate(self.blocks):
            for successor in block.successors or (-1,):
                backwards[successor + 1].append(index + 1)
        graph = tuple(Block(0, 0, tuple(each)) for each in backwards)
        return [None if each in (0, None) else each - 1 for each in dominators(graph)[1:]]

    def key(self, register: str) -> str:
        """Of a register or parameter among the values."""
        return f"{self.prefix}:{register}"

    def is_turning(self, loop: Loop) -> bool:
        """Whether an iteration of the loop is being executed."""
        return any(turn.loop.header == loop.header for turn in self.turns)


def like(value: Expr, name: str) -> Expr:
    """A name in place of a value; of an address, for its offset."""
    return (
        Pointer(value.array, Name(name)) if isinstance(value, Pointer) else Name(name, value.dtype)
    )


def bare(value: Expr) -> Expr:
    """The value; of an address its offset."""
    return value.offset if isinstance(value, Pointer) else value


def as_pointer(model: Expr, value: Expr) -> Expr:
    """An address in the array of another where that is one."""
    return Pointer(model.array, value) if isinstance(model, Pointer) else value


def same_kind(one: Expr, other: Expr) -> bool:
    """Whether two values may be one variable's."""
    if isinstance(one, Pointer) and isinstance(other, Pointer):
        return one.array == other.array
    return (
        not isinstance(one, Pointer) and not isinstance(other, Pointer) and one.dtype == other.dtype
    )


def merge(condition: Expr, yes: Values, no: Values, into: Values) -> None:
    """The values where two paths meet; those that only one has are unknown."""
    into.clear()
    for key in yes.keys() & no.keys():
        one, other = yes[key], no[key]
        if one is other or one == other:
            into[key] = one
        elif same_kind(one, other):
            chosen = call("select", condition, bare(one), bare(other), dtype=bare(one).dtype)
            into[key] = as_pointer(one, chosen)
        elif not isinstance(one, Pointer) and not isinstance(other, Pointer):
            into[key] = Call("select", (condition, one, as_type(other, one.dtype)), one.dtype)
