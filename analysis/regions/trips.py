"""How often a loop runs, from the registers that its exit compares.

A loop is counted when control leaves it by one branch that every iteration reaches, whose predicate
compares a register that changes once an iteration, by a constant or invariant step, with one that
does not change.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from ..ptx.operands import branch_target, integer, name_in_scope, split
from .code import MAX_DEFINITIONS, Code
from .flow import predecessors
from .loops import Loop, dominates
from .symbols import MAX_TEXT, Linear, Slicer, plus, times

MAX_STEPS = 4096
"""of a counter that is doubled or halved, when it is followed by hand"""
MAX_COPIES = 8
"""moves and additions between the test, the counter and its update"""
_BY_NUMBER: dict[str, Callable[[int, int], int]] = {
    "shl": lambda value, by: value << by,
    "shr": lambda value, by: value >> by,
    "mul": operator.mul,
}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    each: getattr(operator, each) for each in _OPPOSITE
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


class Counter(NamedTuple):
    """A register that changes once an iteration."""

    update: int
    """index of the instruction that changes it"""
    start: Linear
    stem: str
    """add, or what else the update does: shl, shr, mul"""
    step: Linear


class LoopReader:
    """Trip counts of the loops of one function."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._instructions = code.function.instructions
        self._slicer = Slicer(code)
        self._before = predecessors(code.blocks)

    def trips(self, loop: Loop) -> int | str | None:
        """Iterations of one entry: a number, an expression over parameters, or None."""
        blocks = self._code.blocks
        exits = [
            (index, successor)
            for index in loop.blocks
            for successor in blocks[index].successors
            if successor not in loop.blocks
        ]
        if len(exits) != 1 or loop.irreducible or len(loop.latches) != 1:
            return None
        leaving, outside = exits[0]
        if not dominates(leaving, loop.latches[0], self._code.dominator):
            return None
        at = blocks[leaving].last - 1
        branch = self._instructions[at]
        if branch.stem != "bra" or not branch.guard:
            return None
        target = self._code.function.labels.get(branch_target(branch) or "")
        leaves_if_taken = target == blocks[outside].first
        # A loop that tests at its top runs its body once less than the test.
        whole = leaving in loop.latches or leaving != loop.header
        return self._counted(loop, at, whole, leaves_if_taken != branch.negated)

    def counter(self, at: int, operand: str) -> Linear | None:
        """What a counter is where an instruction reads it: `i of L2` is the number of the iteration
        of that loop, from 0."""
        for number in self._code.loops_around(self._code.block_at(at)):
            loop = self._code.loops[number]
            found = self._counter(loop, at, operand)
            if found is not None and found[0].stem == "add":
                moved = times(found[0].step, Linear(0, ((f"i of {loop.name}", 1),)))
                return None if moved is None else plus(found[1], moved)
        return None

    def _counted(self, loop: Loop, at: int, whole: bool, leaves_if_true: bool) -> int | str | None:
        inside = self._inside(loop, at, self._instructions[at].guard)
        if len(inside) != 1:
            return None
        test = inside[0]
        setp = self._instructions[test]
        comparison = setp.opcode.split(".")[1] if setp.opcode.startswith("setp.") else ""
        comparison = _UNSIGNED.get(comparison, comparison)
        operands = split(setp.operands)
        if comparison not in _OPPOSITE or len(operands) != 3 or setp.guard:
            return None
        stays = _OPPOSITE[comparison] if leaves_if_true else comparison
        for left, right, relation in (
            (operands[1], operands[2], stays),
            (operands[2], operands[1], _SWAPPED[stays]),
        ):
            found = self._counter(loop, test, left)
            bound = self._slicer.operand(test, right)
            if found is not None and bound is not None:
                return _iterations(*found, relation, bound, whole)
        return None

    def _inside(self, loop: Loop, at: int, operand: str) -> list[int]:
        """The instructions of a loop that write what an instruction reads."""
        register = name_in_scope(self._instructions[at], operand)
        found = self._code.definitions.get(register, [])
        blocks = self._code.blocks
        # The blocks of a loop mostly stand together in the text.
        first = bisect_left(found, blocks[min(loop.blocks)].first)
        last = bisect_left(found, blocks[max(loop.blocks)].last)
        return [i for i in found[first:last] if self._code.block_at(i) in loop.blocks]

    def _once(self, loop: Loop, at: int, operand: str) -> int | None:
        """The instruction of a loop that alone writes what another reads, once an iteration."""
        inside = self._inside(loop, at, operand)
        if len(inside) != 1:
            return None
        block = self._code.block_at(inside[0])
        own = self._code.loop_of[block]
        if own is None or self._code.loops[own] is not loop:
            return None
        always = all(dominates(block, each, self._code.dominator) for each in loop.latches)
        return inside[0] if always else None

    def _counter(self, loop: Loop, at: int, operand: str) -> tuple[Counter, Linear] | None:
        """The counter behind an operand, and what the operand is when it is first looked at."""
        offset = Linear(0)
        for _ in range(MAX_COPIES):
            inside = self._once(loop, at, operand)
            if inside is None:
                return None
            counter = self._counter_of(loop, at, operand, inside)
            if counter is not None:
                start = counter.start
                if self._comes_before(counter.update, at):
                    start = _moved(counter, start)
                return counter, plus(start, offset)
            found = self._copied(inside)
            if found is None:
                return None
            at, (operand, more) = inside, found
            offset = plus(offset, more)
        return None

    def _copied(self, at: int) -> tuple[str, Linear] | None:
        """(operand, what is added) of a `mov` or of an `add` of what does not change: an expression
        over what a launch gives is the same in every iteration, wherever it is computed."""
        instruction = self._instructions[at]
        operands = split(instruction.operands)
        if instruction.guard:
            return None
        if instruction.stem == "mov" and len(operands) == 2:
            return operands[1], Linear(0)
        if instruction.stem not in ("add", "sub") or len(operands) != 3:
            return None
        _, left, right = operands
        added = self._slicer.operand(at, right)
        if added is not None:
            return left, plus(Linear(0), added, 1 if instruction.stem == "add" else -1)
        added = self._slicer.operand(at, left) if instruction.stem == "add" else None
        return None if added is None else (right, added)

    def _counter_of(self, loop: Loop, at: int, operand: str, update: int) -> Counter | None:
        """A register with one start outside and one update inside, which reads it again."""
        register = name_in_scope(self._instructions[at], operand)
        definitions = self._code.definitions[register]
        if len(definitions) > MAX_DEFINITIONS:
            return None
        entering = self._entering(loop, definitions)
        if len(entering) != 1 or self._instructions[entering[0]].guard:
            return None
        start = self._slicer.result(entering[0])
        step = self._step(loop, register, update)
        if start is None or step is None:
            return None
        stem, by = step
        if stem != "add" and start.number is None:
            return None
        return Counter(update, start, stem, by)

    def _entering(self, loop: Loop, definitions: list[int]) -> list[int]:
        """Those definitions of a register whose value may enter a loop; of the loop's own, where
        the loop around it comes back without a new start."""
        last = {self._code.block_at(index): index for index in definitions}
        pending = [each for each in self._before[loop.header] if each not in loop.blocks]
        found, seen = list[int](), {*pending}
        while pending:
            block = pending.pop()
            if block in last:
                found.append(last[block])
                continue
            new = {*self._before[block]} - seen
            seen |= new
            pending += new
        return found

    def _step(self, loop: Loop, register: str, update: int) -> tuple[str, Linear] | None:
        """(add, shl, shr or mul; by how much) from one iteration to the next."""
        total = Linear(0)
        for _ in range(MAX_COPIES):
            instruction = self._instructions[update]
            if instruction.stem in _BY_NUMBER:
                operands = split(instruction.operands)
                same = name_in_scope(instruction, "".join(operands[1:2])) == register
                by = integer(operands[-1]) if len(operands) == 3 else None
                if not same or total != Linear(0) or by is None or not 0 < by < 64:
                    return None
                return instruction.stem, Linear(by)
            found = self._copied(update)
            if found is None:
                return None
            source, more = found
            total = plus(total, more)
            if name_in_scope(instruction, source) == register:
                return "add", total
            inside = self._once(loop, update, source)
            if inside is None:
                return None
            update = inside
        return None

    def _comes_before(self, update: int, at: int) -> bool:
        """Whether an iteration changes the counter before it gets to an instruction."""
        one, other = self._code.block_at(update), self._code.block_at(at)
        return update < at if one == other else dominates(one, other, self._code.dominator)


def _iterations(
    counter: Counter, first: Linear, relation: str, bound: Linear, whole: bool
) -> int | str | None:
    """How often the body runs while `value relation bound` holds, the value beginning at `first`;
    `whole`: the iteration in which the test fails has run its body, too."""
    extra = 1 if whole else 0
    if counter.stem != "add":
        return _followed(counter, first, relation, bound, extra)
    distance = plus(bound, first, -1)
    step = counter.step
    if relation in ("gt", "ge") or (relation == "ne" and (step.number or 0) < 0):
        distance, step = plus(Linear(0), distance, -1), plus(Linear(0), step, -1)
    if relation in ("le", "ge"):
        distance = plus(distance, Linear(1))
    if relation == "eq" or (step.number is not None and step.number <= 0):
        return None
    if step.number is None:
        # ceil(distance / step) + extra, where the step is an expression
        text = f"ceil(({plus(distance, step) if extra else distance}) / ({step}))"
        return text if len(text) <= MAX_TEXT else None
    by = step.number
    if distance.number is not None:
        return max(-(-distance.number // by), 0) + extra
    rounded = plus(distance, Linear((by - 1 if relation != "ne" else 0) + extra * by))
    text = str(rounded) if by == 1 else f"({rounded}) / {by}"
    return text if len(text) <= MAX_TEXT else None


def _followed(
    counter: Counter, first: Linear, relation: str, bound: Linear, extra: int
) -> int | None:
    """The same for a counter that is doubled or halved, step by step."""
    value, limit = first.number, bound.number
    if value is None or limit is None:
        return None
    for done in range(MAX_STEPS):
        if not _HOLDS[relation](value, limit):
            return done + extra
        if abs(value) >> 64:
            return None
        value = _moved(counter, Linear(value)).constant
    return None


def _moved(counter: Counter, value: Linear) -> Linear:
    """A counter one iteration later."""
    if counter.stem == "add":
        return plus(value, counter.step)
    return Linear(_BY_NUMBER[counter.stem](value.constant, counter.step.constant))
