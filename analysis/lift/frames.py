"""A function of PTX while it is executed on expressions: its blocks, loops, and values so far; and
values of variables where paths meet, a loop comes back, or a loop is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..ptx import Function
from ..regions.flow import Block, blocks_of
from ..regions.loops import Loop, dominators, loops_of
from .expressions import (
    TRUE,
    Call,
    Carried,
    Expr,
    Name,
    Number,
    Pointer,
    Unreadable,
    call,
    names_in,
)
from .folding import closed_forms, ended, first_of, fold_of
from .machine import as_type
from .rewriting import substitute
from .statements import Body, Each, changed, defined, expressions_in
from .sums import chosen, total, width_of

Values = dict[str, Expr]
"""registers and parameters (`3:%r1`: of the third function that was entered), and pieces of local
memory (`@depot+4:4`: the four bytes from the fourth)"""


Exit = tuple[Expr, int, Values]
"""on what condition, to which block, with which values a loop is left"""
Kept = Mapping[str, tuple[str, Expr, Expr]]
"""what a loop carries by key: the name that stands for it, first and next value"""


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
    breaks: list[tuple[Expr, int, Values]] = field(default_factory=list[tuple[Expr, int, Values]])
    """where the loop is left after its test: on what condition, whereto, and the values there"""
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
        elif width_of(one) or width_of(other):
            into[key] = chosen(condition, one, other)
        elif same_kind(one, other):
            either = call("select", condition, bare(one), bare(other), dtype=bare(one).dtype)
            into[key] = as_pointer(one, either)
        elif not isinstance(one, Pointer) and not isinstance(other, Pointer):
            into[key] = Call("select", (condition, one, as_type(other, one.dtype)), one.dtype)


def finished(turn: Turn, carried: Kept, index: str, body: Body) -> tuple[Body, list[Exit]]:
    """A loop of which one iteration was executed: its statements, and where it is left to. What it
    carries is classified."""
    firsts = {name: bare(first) for name, first, _ in carried.values()}
    nexts = {name: bare(following) for name, _, following in carried.values()}
    varying = frozenset(defined(body))
    known = closed_forms(firsts, nexts, index, varying)
    assert turn.stay is not None
    count, others = ended(substitute(turn.stay, known), index)
    if turn.last and others:
        raise Unreadable("a loop that ends by something else than a counter")
    if turn.last:
        count = call("max", Number(1), total((count, Number(1))), dtype="int")
    kept = {
        n: Carried(n, firsts[n].dtype, firsts[n], substitute(nexts[n], known))
        for n in nexts
        if n not in known
    }
    leaves = [substitute(each, known) for each, _, _ in turn.breaks]
    whole = count
    if leaves or others:
        count = first_of([*others, *leaves], index, count)
        if names_in(count) & (kept.keys() | varying):
            raise Unreadable("a loop that is left by what it computes")
        if others and leaves:
            raise Unreadable("a loop with more than one end that the data decides")
    done = total((count, Number(-1))) if turn.last else count
    ends: dict[str, Expr] = {index: done} | {
        n: substitute(e, {index: done}) for n, e in known.items()
    }
    full = {n: substitute(e, {index: count}) for n, e in known.items()}
    for name in kept:
        closure = fold_of(name, kept, index, count)
        inner = set[str]().union(*(names_in(each.next) for each in closure.carried))
        full[name] = Name(name, kept[name].dtype) if inner & varying else closure
    if not turn.last:
        ends |= {name: full[name] for name in kept}
    made = left_over(body, known, kept, (index, count))
    by_key = {key: name for key, (name, _, _) in carried.items()}
    values = Values()
    for key, value in turn.at_exit.items():
        own = by_key.get(key)
        if turn.last and own is not None and value == carried[key][2]:
            pointer = carried[key][1]
            values[key] = as_pointer(pointer, full[own])
        else:
            values[key] = substitute(value, ends)
    broken = call("lt", count, whole, dtype="bool")
    exits = [(TRUE, turn.leaves_to, values)] + [
        (
            call("and", broken, substitute(leave, ends), dtype="bool") if leaves[1:] else broken,
            to,
            {key: substitute(value, ends) for key, value in there.items()},
        )
        for leave, (_, to, there) in zip(leaves, turn.breaks, strict=True)
    ]
    return made, exits


def left_over(
    body: Body, known: dict[str, Expr], kept: dict[str, Carried], head: tuple[str, Expr]
) -> Body:
    """The loop as a statement, where it does more than compute."""
    if not body:
        return ()
    made = changed(body, lambda each: substitute(each, known))
    used, pending = dict[str, Carried](), names_of(made)
    while pending:
        name = pending.pop()
        if name in kept and name not in used:
            used[name] = kept[name]
            pending |= names_in(kept[name].next)
    for name, each in kept.items():
        if names_in(each.next) & defined(body):
            used[name] = each
    return (Each(*head, tuple(used.values()), made),)


def names_of(body: Body) -> set[str]:
    """Every name in expressions of statements."""
    return set[str]().union(*(names_in(each) for each in expressions_in(body)))
