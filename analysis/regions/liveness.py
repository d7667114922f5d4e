"""How many registers are live at once, by a backward data-flow over sets kept as integers.

PTX has as many registers as a compiler likes: ptxas renames, rematerialises and packs them. The
number says how the kernel's need compares with that of another variant, not what ptxas allots.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ptx import Registers
from .code import Code
from .flow import predecessors


class Live(NamedTuple):
    """The most registers that are live at one instruction."""

    words: int
    """32-bit registers that they fill; predicates fill none, narrower ones one each"""
    line: int
    """of the PTX, where that is"""
    by_type: dict[str, int]
    """there, by declared type"""


def _word_count(type_: str) -> int:
    if type_ == "pred":
        return 0
    digits = "".join(filter(str.isdigit, type_.partition("x")[0])) or "32"
    return max(int(digits) // 32, 1)


class _Types:
    """The declared type of a register by its name."""

    def __init__(self, registers: tuple[Registers, ...]) -> None:
        self._prefixes = {each.name: each.type for each in registers if each.length is not None}
        self._names = {each.name: each.type for each in registers if each.length is None}

    def of(self, register: str) -> str:
        found = self._names.get(register)
        return found or self._prefixes.get(register.partition("@")[0].rstrip("0123456789"), "b32")


def live_registers(code: Code) -> Live:
    """Where the kernel holds most registers at once; of nothing, zeros."""
    registers = [name for name in code.definitions]
    types = _Types(code.function.registers)
    type_of = [types.of(name) for name in registers]
    number = {name: index for index, name in enumerate(registers)}
    after = _live_after_blocks(code, number)
    best, best_line, best_set = 0, 0, set[int]()
    words = [_word_count(type_) for type_ in type_of]
    for index, block in enumerate(code.blocks):
        live = _members(after[index])
        now = sum(words[each] for each in live)
        for at in range(block.last - 1, block.first - 1, -1):
            if now > best:
                best, best_set = now, set(live)
                best_line = code.function.instructions[at].line
            guarded = bool(code.function.instructions[at].guard)
            for name in code.written[at]:
                register = number[name]
                if register in live and not guarded:
                    live.remove(register)
                    now -= words[register]
            for name in code.read[at]:
                register = number.get(name, -1)
                if register >= 0 and register not in live:
                    live.add(register)
                    now += words[register]
    by_type = dict[str, int]()
    for register in sorted(best_set):
        by_type[type_of[register]] = by_type.get(type_of[register], 0) + 1
    return Live(best, best_line, by_type)


def _members(bits: int) -> set[int]:
    digits = bin(bits)[:1:-1]
    found, at = set[int](), digits.find("1")
    while at >= 0:
        found.add(at)
        at = digits.find("1", at + 1)
    return found


def _live_after_blocks(code: Code, number: dict[str, int]) -> list[int]:
    """Of each block, the set of registers that are read after it, one bit a register."""
    needs, kills = list[int](), list[int]()
    for block in code.blocks:
        need, killed = set[int](), set[int]()
        for at in range(block.first, block.last):
            for name in code.read[at]:
                register = number.get(name, -1)
                if register >= 0 and register not in killed:
                    need.add(register)
            if not code.function.instructions[at].guard:
                killed.update(number[name] for name in code.written[at])
        needs.append(_bits(need))
        kills.append(_bits(killed))
    before, after = list(needs), [0] * len(code.blocks)
    sources = predecessors(code.blocks)
    pending = list(range(len(code.blocks)))
    waiting = set(pending)
    while pending:
        index = pending.pop()
        waiting.discard(index)
        live = 0
        for successor in code.blocks[index].successors:
            live |= before[successor]
        after[index] = live
        new = needs[index] | (live & ~kills[index])
        if new != before[index]:
            before[index] = new
            fresh = [each for each in sources[index] if each not in waiting]
            pending += fresh
            waiting.update(fresh)
    return after


def _bits(members: set[int]) -> int:
    if not members:
        return 0
    data = bytearray(max(members) // 8 + 1)
    for each in members:
        data[each >> 3] |= 1 << (each & 7)
    return int.from_bytes(data, "little")
