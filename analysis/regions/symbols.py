"""Integer registers as expressions over kernel parameters and special registers, by a backward
slice: `(param5 + 31) / 32`.

Overflow is left out: what a register holds is taken for the integer that it stands for.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..ptx.effects import Phase
from ..ptx.operands import address, integer, name_in_scope, split
from .code import MAX_DEFINITIONS, Code

MAX_DEPTH = 24
MAX_TEXT = 80
"""an expression longer than this says nothing to a reader: it counts as unknown"""
_SPECIAL = re.compile(r"%((?:n?tid|n?ctaid|nclusterid|cluster_n?ctaid)(?:\.[xyz])|laneid|warpid)$")
_SAME = ("mov", "cvta", "cvt")
_CUTS = re.compile(r"\.hi\b|^cvt.*\.[sub](?:8|16)\b")
"""what keeps a part of the value alone: the upper half of a product, the low bits"""


class Linear(NamedTuple):
    """constant + sum of coefficient times atom; an atom is text."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()

    @property
    def number(self) -> int | None:
        """The value where it is known."""
        return None if self.terms else self.constant

    def __str__(self) -> str:
        text = ""
        for atom, factor in sorted(self.terms, key=lambda term: term[1] < 0):
            sign = "-" if factor < 0 else "+" if text else ""
            # -a % 4 would be read as (-a) % 4
            alone = abs(factor) == 1 and (text or factor > 0)
            product = atom if alone else _grouped(atom)
            product = product if abs(factor) == 1 else f"{abs(factor)} * {product}"
            text += f" {sign} {product}" if text else f"{sign}{product}"
        if not text:
            return str(self.constant)
        if self.constant:
            text += f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        return text


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text


def plus(a: Linear, b: Linear, factor: int = 1) -> Linear:
    """a + factor * b."""
    terms = dict(a.terms)
    for atom, each in b.terms:
        terms[atom] = terms.get(atom, 0) + factor * each
    kept = tuple((atom, each) for atom, each in terms.items() if each)
    return Linear(a.constant + factor * b.constant, kept)


def times(a: Linear, b: Linear) -> Linear | None:
    """a * b."""
    for one, other in ((a, b), (b, a)):
        if one.number is not None:
            return plus(Linear(0), other, one.number)
    return _atom(f"{_grouped(str(a))} * {_grouped(str(b))}")


def over(a: Linear, divisor: int) -> Linear | None:
    """a / divisor, rounded down."""
    if divisor <= 0:
        return None
    if a.constant % divisor == 0 and all(factor % divisor == 0 for _, factor in a.terms):
        return Linear(a.constant // divisor, tuple((t, f // divisor) for t, f in a.terms))
    if a.number is not None:
        return Linear(a.number // divisor)
    return _atom(f"{_grouped(str(a))} / {divisor}")


def _atom(text: str) -> Linear | None:
    return Linear(0, ((text, 1),)) if len(text) <= MAX_TEXT else None


class Slicer:
    """Expressions of the registers of one function. `at` is the index of the instruction that
    reads: what a register holds there may be known though others write it, too."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._instructions = code.function.instructions
        parameters = enumerate(code.function.parameters)
        self._parameters = {each.name: f"param{number}" for number, each in parameters}
        self._known = dict[int, Linear | None]()

    def definition(self, at: int, text: str) -> int | None:
        """The one instruction whose value an operand has; None where it may be one of several, or
        a guarded one."""
        found = self._code.definitions.get(name_in_scope(self._instructions[at], text), [])
        if len(found) > MAX_DEFINITIONS:
            return None
        if len(found) > 1:
            found = [each for each in found if self._may_reach(each, at)]
        if len(found) != 1 or self._instructions[found[0]].guard:
            return None
        return found[0]

    def _may_reach(self, definition: int, at: int) -> bool:
        here, there = self._code.block_at(definition), self._code.block_at(at)
        return (here == there and definition < at) or self._code.may_follow(here, there)

    def operand(self, at: int, text: str, depth: int = 0) -> Linear | None:
        """The value of an operand, None where it is not known."""
        value = integer(text)
        if value is not None:
            return Linear(value)
        special = _SPECIAL.match(text)
        if special is not None:
            return _atom(special[1])
        found = self.definition(at, text)
        if found is None or depth >= MAX_DEPTH:
            return None
        return self.result(found, depth + 1)

    def result(self, at: int, depth: int = 0) -> Linear | None:
        """What an instruction writes into its first operand."""
        if at not in self._known:
            self._known[at] = None  # one that needs itself is unknown
            value = self._result(at, depth)
            if value is not None and _is_small(value):
                self._known[at] = value
        return self._known[at]

    def _result(self, at: int, depth: int) -> Linear | None:
        instruction = self._instructions[at]
        stem, opcode = instruction.stem, instruction.opcode
        if self._code.effects[at].phase is not Phase.address or _CUTS.search(opcode):
            return None
        operands = split(instruction.operands)
        if opcode.startswith("ld.param") and len(operands) == 2:
            place = address(operands[1])
            name = self._parameters.get(place.base) if place is not None else None
            return _atom(name) if name is not None and place and place.offset == 0 else None
        if stem == "and" or opcode.startswith("shr.s"):
            halved = self._rounded_to_zero(at, operands, depth)
            if halved is not None:
                return halved
        values = [self.operand(at, each, depth) for each in operands[1:]]
        if any(each is None for each in values):
            return None
        return _computed(stem, [each for each in values if each is not None])

    def _rounded_to_zero(self, at: int, operands: tuple[str, ...], depth: int) -> Linear | None:
        """x / 2^k of a signed x: compilers add ((x >> 31) >>> (32 - k)) before they shift by k, or
        before they clear k bits."""
        shifts = self._instructions[at].stem == "shr"
        amount, total = integer(operands[-1]), self.definition(at, operands[1])
        if (
            len(operands) != 3
            or amount is None
            or total is None
            or self._instructions[total].stem != "add"
        ):
            return None
        k = amount if shifts else (-amount).bit_length() - 1
        if not 0 < k < 64 or (not shifts and amount != -(1 << k)):
            return None
        for value, fix in _both_orders(split(self._instructions[total].operands)[1:]):
            if self._is_sign_fix(total, value, fix, k):
                whole = self.operand(total, value, depth)
                quotient = None if whole is None else over(whole, 1 << k)
                return quotient if quotient is None or shifts else times(quotient, Linear(1 << k))
        return None

    def _is_sign_fix(self, at: int, value: str, fix: str, k: int) -> bool:
        """Whether an operand is the sign of the other, shifted to its low k bits."""
        logical = self.definition(at, fix)
        if logical is None or not self._instructions[logical].opcode.startswith("shr."):
            return False
        parts = split(self._instructions[logical].operands)
        width = 64 if self._instructions[logical].opcode.endswith("64") else 32
        if len(parts) != 3 or integer(parts[2]) != width - k:
            return False
        sign = self.definition(logical, parts[1])
        if sign is None or not self._instructions[sign].opcode.startswith("shr.s"):
            return False
        signed = split(self._instructions[sign].operands)
        return signed[1:2] == (value,) and integer(signed[-1]) == width - 1


def _is_small(value: Linear) -> bool:
    """Whether an expression is one that a reader follows, with numbers that registers hold."""
    numbers = (value.constant, *(factor for _, factor in value.terms))
    return all(abs(each) < 1 << 64 for each in numbers) and len(str(value)) <= MAX_TEXT


def _both_orders(pair: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return ((pair[0], pair[1]), (pair[1], pair[0])) if len(pair) == 2 else ()


def _computed(stem: str, values: list[Linear]) -> Linear | None:
    """One integer operation on known values."""
    a, *rest = values or [Linear(0)]
    b = rest[0] if rest else Linear(0)
    if stem in _SAME and len(values) == 1:
        return a
    if stem == "neg" and len(values) == 1:
        return plus(Linear(0), a, -1)
    if stem in ("add", "sub") and len(values) == 2:
        return plus(a, b, 1 if stem == "add" else -1)
    if stem == "mul" and len(values) == 2:
        return times(a, b)
    if stem == "mad" and len(values) == 3:
        product = times(a, b)
        return None if product is None else plus(product, rest[1])
    return _by_number(stem, a, b) if len(values) == 2 else None


def _by_number(stem: str, a: Linear, b: Linear) -> Linear | None:
    """Shifts, quotients, masks and bounds, which need a number on their right."""
    if stem in ("min", "max"):
        if a.number is not None and b.number is not None:
            return Linear((min if stem == "min" else max)(a.number, b.number))
        return _atom(f"{stem}({a}, {b})")
    by = b.number
    if by is None:
        return _atom(f"{_grouped(str(a))} / {_grouped(str(b))}") if stem == "div" else None
    if stem == "shl" and 0 <= by < 64:
        return times(a, Linear(1 << by))
    if stem == "shr" and 0 <= by < 64:
        return over(a, 1 << by)
    if stem == "div":
        return over(a, by)
    if stem == "rem" and by > 0:
        return (
            Linear(a.number % by) if a.number is not None else _atom(f"{_grouped(str(a))} % {by}")
        )
    return masked(a, by) if stem == "and" else None


def masked(value: Linear, mask: int) -> Linear | None:
    """value & mask, of a mask that keeps the low bits alone, or all but these."""
    if mask < 0 and -mask & (-mask - 1) == 0:
        rounded = over(value, -mask)
        return None if rounded is None else times(rounded, Linear(-mask))
    if mask > 0 and mask & (mask + 1) == 0:
        return _atom(f"{_grouped(str(value))} % {mask + 1}")
    return None
