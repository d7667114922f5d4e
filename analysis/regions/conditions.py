"""Which threads come to a block: the branches on the way to it, as conditions over parameters and
places (`tid.x / 128 == 2`) and iterations (`i of L2 != 0`).

A block runs under the conditions of the branches that alone lead to it. Where a branch asks what no
launch tells (loaded data, a longer expression), and where only some of several paths lead to a
block, its line is kept instead: what is said of such a block is an upper bound. Tests by which a
loop is left are no conditions: its trips hold them.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ptx.operands import branch_target, integer, split
from .code import Code, code_of
from .dag import RegionDag
from .flow import Block, predecessors
from .loops import Loop, dominates, dominators
from .symbols import Linear, Slicer, masked
from .trips import LoopReader

MAX_DEPTH = 8
"""predicates that are made of predicates"""
MAX_TEXT = 320
"""a condition longer than this counts as one that nobody knows"""
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_SIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
"""relations of unsigned numbers by the names that signed ones have"""


class Where(NamedTuple):
    """For which threads a block runs."""

    holds: tuple[str, ...] = ()
    """conditions, all of which hold; quotients are whole"""
    undecided: tuple[int, ...] = ()
    """lines of the branches on which it depends, too, and of which a launch says nothing"""


def where_regions_run(dag: RegionDag) -> tuple[Where, ...]:
    """Of each region, for which threads it runs."""
    found = where_of(code_of(dag.function))
    return tuple(found[region.block] for region in dag.regions)


def where_of(code: Code) -> list[Where]:
    """Of each block, for which threads it runs; of one that is never reached nothing."""
    found = [Where() for _ in code.blocks]
    branches = _Branches(code)
    for block in sorted(range(len(code.blocks)), key=lambda each: code.rank[each]):
        above = code.dominator[block]
        if above is not None and above != block:
            found[block] = branches.after(found[above], above, block)
    return found


class _Branches:
    """What the branches of a function say of the blocks after them."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._before = predecessors(code.blocks)
        self._after = _postdominators(code)
        self._predicates = _Predicates(code)

    def after(self, where: Where, above: int, block: int) -> Where:
        """Of a block, from what is known of its immediate dominator `above`."""
        last = self._code.blocks[above].last - 1
        branch = self._code.function.instructions[last]
        said = None
        if self._alone(above, block):
            ways_out = self._ways_out(above)
            if not branch.guard or ways_out == 1 or (ways_out and self._stays(above, block)):
                return where
            if branch.stem != "brx" and not ways_out:
                negated = branch.negated == self._is_taken(above, block)
                said = self._predicates.text(last, branch.guard, negated=negated)
        elif dominates(block + 1, above + 1, self._after):
            return where
        if said is not None:
            return where._replace(holds=tuple(dict.fromkeys((*where.holds, said))))
        return where._replace(undecided=tuple(dict.fromkeys((*where.undecided, branch.line))))

    def _alone(self, above: int, block: int) -> bool:
        """Whether one way of the branch at the end of `above` is the only entry of a block."""
        code = self._code
        if block not in code.blocks[above].successors:
            return False
        return all(
            each == above or dominates(block, each, code.dominator) for each in self._before[block]
        )

    def _is_taken(self, above: int, block: int) -> bool:
        code = self._code
        branch = code.function.instructions[code.blocks[above].last - 1]
        target = code.function.labels.get(branch_target(branch) or "")
        return target == code.blocks[block].first

    def _ways_out(self, above: int) -> int:
        """How many ways lead out of the innermost loop that a branch may leave; 0: it leaves
        none."""
        loop = self._left(above)
        if loop is None:
            return 0
        blocks = self._code.blocks
        return sum(each not in loop.blocks for b in loop.blocks for each in blocks[b].successors)

    def _stays(self, above: int, block: int) -> bool:
        loop = self._left(above)
        return loop is not None and block in loop.blocks

    def _left(self, above: int) -> Loop | None:
        ways = self._code.blocks[above].successors
        around = (self._code.loops[n] for n in self._around(above))
        return next((each for each in around if not {*ways} <= each.blocks), None)

    def _around(self, block: int) -> list[int]:
        """The loops around a block, those that wait among them, the innermost first."""
        loops = self._code.loops
        found = [n for n, loop in enumerate(loops) if block in loop.blocks]
        return sorted(found, key=lambda n: -loops[n].depth)


def _postdominators(code: Code) -> list[int | None]:
    """Immediate dominators of the reversed graph; its block 0 is the end of the function, block n
    of the function its block n + 1."""
    ends = [
        n + 1
        for n, block in enumerate(code.blocks)
        if not block.successors or _may_leave(code, block)
    ]
    turned = [Block(0, 0, tuple(ends))]
    turned += [Block(0, 0, tuple(b + 1 for b in found)) for found in predecessors(code.blocks)]
    return dominators(tuple(turned))


def _may_leave(code: Code, block: Block) -> bool:
    return code.function.instructions[block.last - 1].opcode in ("ret", "exit", "trap")


class _Predicates:
    """Predicate registers as conditions."""

    def __init__(self, code: Code) -> None:
        self._instructions = code.function.instructions
        self._slicer = Slicer(code)
        self._loops = LoopReader(code)

    def text(self, at: int, register: str, *, negated: bool = False, depth: int = 0) -> str | None:
        """The condition under which what an instruction reads is true, or is false."""
        made = self._slicer.definition(at, register)
        if made is None or depth > MAX_DEPTH:
            return None
        instruction = self._instructions[made]
        operands = split(instruction.operands)
        parts = instruction.opcode.split(".")
        said = None
        if parts[0] == "setp" and len(parts) == 3 and len(operands) == 3:
            relation = _SIGNED.get(parts[1], parts[1])
            wraps = parts[2][0] == "u" or relation != parts[1]
            said = self._compared(
                made, _OPPOSITE.get(relation, "") if negated else relation, operands[1:],
                1 << int(parts[2][1:]) if wraps and parts[2][1:].isdigit() else 0,
            )  # fmt: skip
        elif parts[1:] == ["pred"] and parts[0] in ("mov", "not") and len(operands) == 2:
            turned = negated != (parts[0] == "not")
            said = self.text(made, operands[1], negated=turned, depth=depth + 1)
        elif parts[1:] == ["pred"] and parts[0] in ("and", "or") and len(operands) == 3:
            both = [self.text(made, e, negated=negated, depth=depth + 1) for e in operands[1:]]
            word = "and" if (parts[0] == "and") != negated else "or"
            said = None if None in both else f"({both[0]}) {word} ({both[1]})"
        return said if said and len(said) <= MAX_TEXT else None

    def _value(self, at: int, operand: str) -> Linear | None:
        value = self._slicer.operand(at, operand)
        return self._loops.counter(at, operand) if value is None else value

    def _compared(self, at: int, relation: str, operands: tuple[str, ...], size: int) -> str | None:
        """`size`: of what an unsigned register counts; 0: it is none."""
        left, right = (self._value(at, each) for each in operands)
        if relation in ("eq", "ne") and right == Linear(0):
            return self._zero(at, operands[0], relation)
        sign = _SIGNS.get(relation)
        if left is None or right is None or sign is None:
            return None
        if relation in ("eq", "ne") or not size:
            return f"{left} {sign} {right}"
        return f"{_unsigned(left, size)} {sign} {_unsigned(right, size)}"

    def _zero(self, at: int, operand: str, relation: str, mask: int = -1) -> str | None:
        """Whether a register, or what a mask leaves of it, is zero: `a | b` is where both are."""
        value = self._value(at, operand)
        if value is not None:
            value = value if mask == -1 else masked(value, mask)
            return None if value is None else f"{value} {_SIGNS[relation]} 0"
        made = self._slicer.definition(at, operand)
        if made is None:
            return None
        stem, operands = self._instructions[made].stem, split(self._instructions[made].operands)
        if stem == "and" and len(operands) == 3 and mask == -1:
            number = integer(operands[2])
            return None if number is None else self._zero(made, operands[1], relation, number)
        if stem != "or" or len(operands) != 3:
            return None
        both = [self._zero(made, each, relation, mask) for each in operands[1:]]
        word = "and" if relation == "eq" else "or"
        return None if None in both else f"{both[0]} {word} {both[1]}"


def _unsigned(value: Linear, size: int) -> str:
    """What an unsigned register makes of a value that may be negative."""
    return str(value.number % size) if value.number is not None else f"({value}) % {size}"
