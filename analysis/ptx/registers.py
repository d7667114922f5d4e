"""Which registers an instruction writes and which it reads."""

from __future__ import annotations

import re

from .effects import Effect
from .module import Instruction

_REGISTER = re.compile(r"%[A-Za-z_$][\w$]*")
_NAME = re.compile(r"[%A-Za-z_$][\w$]*")
READS_ITS_RESULT = ("wgmma.mma_async",)
"""the sums to which it adds are its first operand"""


def accesses(instruction: Instruction, effect: Effect) -> tuple[list[str], list[str]]:
    """(written, read), by names that are unique in the function; the guard is read.

    Special registers (`%tid`) are read like others.
    """
    operands = instruction.operands
    if instruction.names is None:
        found = _REGISTER.findall(operands)
        first = operands[:1]
        if not effect.row.result or first == "[" or not found:
            written, read = [], found
        elif first == "{":
            length = operands.count("%", 0, operands.find("}"))
            written, read = found[:length], found[length:]
        elif "|" in operands:
            length = operands.count("%", 0, operands.find(","))
            written, read = found[:length], found[length:]
        elif first == "%":
            written, read = found[:1], found[1:]
        else:  # `_`: the result is thrown away
            written, read = [], found
    else:
        written, read = _scoped(instruction, effect)
    if instruction.opcode.startswith(READS_ITS_RESULT):
        read = written + read
    if instruction.guard:
        guard = instruction.guard
        if instruction.names is not None:
            guard = instruction.names.get(guard, guard)
        read = [*read, guard]
    return written, read


def _scoped(instruction: Instruction, effect: Effect) -> tuple[list[str], list[str]]:
    """The same where registers may have names without a percent sign."""
    if instruction.opcode.startswith("bra"):
        return [], []  # its operand is a label
    names = instruction.names or {}
    operands = instruction.operands
    ends = operands.find("}") if operands.startswith("{") else operands.find(",")
    ends = len(operands) if ends < 0 else ends
    written, read = list[str](), list[str]()
    result = effect.row.result and not operands.startswith("[")
    for found in _NAME.finditer(operands):
        name = found[0]
        if name in names or name[0] == "%":
            into = written if result and found.start() < ends else read
            into.append(names.get(name, name))
    return written, read
