"""Operands of an instruction, taken apart."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from .module import Instruction

_MARK = re.compile(r"[,{}\[\]()]")
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]{1,32}|0[bB][01]{1,128}|\d{1,24})U?$")
_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]{8}|[0-9a-fA-F]{16})$")
_BRANCHES = ("bra", "brx")


class Address(NamedTuple):
    """`[%rd1+16]`: base %rd1, offset 16; `[0x10]` has no base."""

    base: str
    offset: int


def split(operands: str) -> tuple[str, ...]:
    """The operands as written, in order; vectors and addresses stay whole."""
    found, depth, start = list[str](), 0, 0
    for mark in _MARK.finditer(operands):
        if mark[0] in "{[(":
            depth += 1
        elif mark[0] != ",":
            depth -= 1
        elif depth <= 0:
            found.append(operands[start : mark.start()].strip())
            start = mark.end()
    found.append(operands[start:].strip())
    return tuple(each for each in found if each)


def integer(operand: str) -> int | None:
    """The value of an integer literal, None for anything else."""
    found = _INTEGER.match(operand.strip())
    if found is None:
        return None
    value = found[2]
    octal = len(value) > 1 and value.isdigit() and value[0] == "0"
    number = int(value, 8) if octal and set(value) <= set("01234567") else int(value, 0)
    return -number if found[1] == "-" else number


def floating(operand: str) -> float | None:
    """The value of `0f3F800000` or `0d3FF0000000000000`, None for anything else."""
    found = _FLOAT.match(operand.strip())
    if found is None or len(found[2]) != (8 if found[1] in "fF" else 16):
        return None
    form = ">f" if found[1] in "fF" else ">d"
    return float(struct.unpack(form, bytes.fromhex(found[2]))[0])


def vector(operand: str) -> tuple[str, ...]:
    """The elements of `{%r1, %r2}`; of anything else, the operand alone."""
    inside = operand.strip()
    if not inside.startswith("{"):
        return (inside,)
    return tuple(each.strip() for each in inside.strip("{}").split(","))


def address(operand: str) -> Address | None:
    """The base and offset of a memory operand, None for what is none or has several parts (the
    coordinates of a tensor map)."""
    inside = operand.strip()
    if not (inside.startswith("[") and inside.endswith("]")) or "," in inside:
        return None
    base, sign, offset = inside[1:-1].replace(" ", "").partition("+")
    if not sign:
        value = integer(base)
        return Address(base, 0) if value is None else Address("", value)
    value = integer(offset)
    return None if value is None else Address(base, value)


def name_in_scope(instruction: Instruction, name: str) -> str:
    """A register or label under the name that no other scope of the function has."""
    return instruction.names.get(name, name) if instruction.names is not None else name


def branch_target(instruction: Instruction) -> str | None:
    """Where a `bra` goes, or the table of a `brx.idx`; None for every other instruction."""
    if instruction.stem not in _BRANCHES:
        return None
    found = split(instruction.operands)
    return name_in_scope(instruction, found[-1]) if found else None
