"""Instructions of a function one after the other: operands, parameters of calls, and memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ..ptx import Function, Instruction, Module, Variable
from ..ptx.effects import effect
from ..ptx.operands import address, floating, integer, name_in_scope, split, vector
from ..ptx.registers import accesses
from .accesses import LOCAL, SHARED, TABLE, Memory
from .expressions import Expr, Name, Number, Pointer, Unreadable, call
from .frames import Frame, Values
from .machine import (
    OF_HALVES,
    applied,
    as_type,
    computed,
    dtype_of,
    known_function,
    nbytes_of,
)
from .statements import Barrier, Statement
from .sums import packed, total, unpacked

Pieces = Mapping[int, Expr]
"""a value that is handed over, by the byte at which each piece of it begins: a struct has several;
what was never given a value has none"""
Enter = Callable[[str, Sequence[Pieces], Values], Pieces]
_NOTHING = ("membar", "fence", "prefetch", "prefetchu", "nanosleep", "griddepcontrol")
SPECIAL = ("tid", "ntid", "ctaid", "nctaid")
_SHUFFLE = re.compile(r"_Z\d+__shfl(_up|_down|_xor|)_syncj\w+$")
_WAITS = re.compile(r"_Z\d+__syncwarpj$")
_ATOMIC = ("add", "min", "max", "and", "or", "xor")


def registers_of(instruction: Instruction) -> list[str]:
    """The registers that an instruction writes; of a call, what comes back is in parameters."""
    return accesses(instruction, effect(instruction.opcode))[0]


class Calls:
    """Executes instructions. `enter` executes a function of the source; `known`: coordinates that
    the size of a block gives, such as `ntid.x`."""

    def __init__(
        self, module: Module, memory: Memory, enter: Enter, known: Mapping[str, Expr]
    ) -> None:
        self.functions = {each.name: each for each in module.functions}
        self._globals = {each.name: each for each in module.variables}
        self._memory, self._enter, self._known = memory, enter, known

    def execute(
        self, frame: Frame, each: Instruction, values: Values, out: list[Statement]
    ) -> None:
        """One instruction: change the values, or add statements. Raises Unreadable."""
        if each.stem in _NOTHING:
            return
        if each.guard:
            raise Unreadable(f"an instruction that only some threads execute: {each.text}")
        if each.stem in ("bar", "barrier"):
            out.append(Barrier())
        elif each.stem == "call":
            self._call(frame, each, values, out)
        elif each.stem in ("ld", "ldu", "st"):
            self._moved(frame, each, values, out)
        elif each.stem in ("atom", "red"):
            self._atomic(frame, each, values, out)
        else:
            target, *args = split(each.operands)
            if target.startswith("{") and each.stem == "mov":
                self._taken_apart(frame, each, vector(target), args[0], values)
                return
            if target.startswith("{") or "|" in target:
                raise Unreadable(f"the instruction {each.opcode}")
            key = frame.key(name_in_scope(each, target))
            values.pop(key, None)
            read = [self._operand(frame, each, operand, values) for operand in args]
            if None not in read:
                values[key] = computed(each.opcode, [v for v in read if v is not None])

    def _taken_apart(
        self, frame: Frame, each: Instruction, targets: Sequence[str], source: str, values: Values
    ) -> None:
        """`mov.b32 {low, high}, r`: a register in pieces."""
        nbytes = nbytes_of(each.opcode.rpartition(".")[2]) // len(targets)
        value = self._operand(frame, each, source, values)
        parts = None if value is None else unpacked(value, nbytes, len(targets))
        for at, target in enumerate(targets):
            if target != "_":
                _give(
                    values,
                    frame.key(name_in_scope(each, target)),
                    None if parts is None else parts[at],
                )

    def _put_together(
        self, frame: Frame, each: Instruction, operand: str, values: Values
    ) -> Expr | None:
        """`mov.b32 r, {low, high}`: pieces as one register."""
        parts = [self._operand(frame, each, part, values) for part in vector(operand)]
        known = [part for part in parts if part is not None]
        nbytes = nbytes_of(each.opcode.rpartition(".")[2]) // len(parts)
        return packed(known, nbytes) if len(known) == len(parts) else None

    def _operand(
        self, frame: Frame, each: Instruction, operand: str, values: Values
    ) -> Expr | None:
        """The value of an operand; None where it is unknown, which matters only if it is used."""
        if operand.startswith("{"):
            return self._put_together(frame, each, operand, values)
        if (number := integer(operand)) is not None:
            return Number(number)
        if (number := floating(operand)) is not None:
            return Number(number, "f32" if operand[1] in "fF" else "f64")
        found = values.get(frame.key(name_in_scope(each, operand)))
        if found is not None:
            return found
        stem, _, axis = operand.removeprefix("%").partition(".")
        if operand.startswith("%") and stem in SPECIAL and axis in ("x", "y", "z"):
            return self._known.get(f"{stem}.{axis}", Name(f"{stem}.{axis}"))
        if operand == "WARP_SZ":
            return Number(32)
        if operand == "%laneid" and (lane := self._known.get("laneid")) is not None:
            return lane
        variable = _variable(frame.function, operand) or self._globals.get(operand)
        return None if variable is None else self._begin(variable)

    def _begin(self, variable: Variable) -> Pointer:
        """Where a variable that is declared begins. Raises Unreadable."""
        name = variable.name
        if variable.space in ("local", "shared"):
            return Pointer(f"{LOCAL if variable.space == 'local' else SHARED}{name}", Number(0))
        if name in self._memory.tables:
            return Pointer(f"{TABLE}{name}", Number(0))
        if name in self._memory.variables:
            return Pointer(name, Number(0))
        raise Unreadable(f"the variable {name} of the whole program")

    def _value(self, frame: Frame, each: Instruction, operand: str, values: Values) -> Expr:
        found = self._operand(frame, each, operand, values)
        if found is None:
            raise Unreadable("a value that is unknown here")
        return found

    def _moved(self, frame: Frame, each: Instruction, values: Values, out: list[Statement]) -> None:
        """A load or store, of memory or of a parameter."""
        target, source = split(each.operands)
        load = each.stem != "st"
        place = source if load else target
        where = address(place)
        if where is None:
            raise Unreadable(f"the address {place}")
        kind = each.opcode.rpartition(".")[2]
        given = [] if load else [self._operand(frame, each, v, values) for v in vector(source)]
        if ".param" in each.opcode:
            count = len(vector(target if load else source))
            size = int(kind[1:]) // 8
            keys = [frame.key(f"{where.base}+{where.offset + n * size}") for n in range(count)]
            if not load:
                for key, value in zip(keys, given, strict=True):
                    _give(values, key, None if value is None else _typed(value, kind))
                return
            found = [values.get(key) for key in keys]
            read = [None if value is None else _typed(value, kind) for value in found]
        else:
            pointer = total((self._value(frame, each, where.base, values), Number(where.offset)))
            if not load:
                self._memory.store(kind, given, pointer, values, out)
                return
            read = self._memory.load(kind, len(vector(target)), pointer, values, out)
        for register, value in zip(vector(target), read, strict=True):
            _give(values, frame.key(name_in_scope(each, register)), value)

    def _atomic(
        self, frame: Frame, each: Instruction, values: Values, out: list[Statement]
    ) -> None:
        operands = split(each.operands)
        if each.stem == "red":
            operands = ("_", *operands)
        op = next((part for part in each.opcode.split(".") if part in _ATOMIC), None)
        where = address(operands[1])
        if op is None or where is None or len(operands) != 3:
            raise Unreadable(f"the instruction {each.opcode}")
        pointer = total((self._value(frame, each, where.base, values), Number(where.offset)))
        value = self._value(frame, each, operands[2], values)
        kind = each.opcode.rpartition(".")[2]
        old = self._memory.scatter(op, kind, pointer, value, out)
        values[frame.key(name_in_scope(each, operands[0]))] = old

    def _call(self, frame: Frame, each: Instruction, values: Values, out: list[Statement]) -> None:
        operands = split(each.operands)
        returned = operands[0].strip("()").strip() if operands[0].startswith("(") else ""
        name = operands[1] if returned else operands[0]
        listed = operands[-1].strip("()") if operands[-1].startswith("(") else ""
        passed = [part.strip() for part in listed.split(",") if part.strip()]
        pieces = [_taken(values, frame.key(part)) for part in passed]
        known = known_function(name)
        shuffle = _SHUFFLE.match(name)
        if (halves := OF_HALVES.match(name)) is not None:
            self._of_halves(
                halves, "bfloat" in name, pieces, frame.key(f"{returned}+0"), values, out
            )
            return
        result: Expr | None = None
        if name in self.functions and known is None and not shuffle and not _WAITS.match(name):
            answer = self._enter(name, pieces, values)
            for at, value in answer.items() if returned else ():
                values[frame.key(f"{returned}+{at}")] = value
            return
        args = [_whole(each) for each in pieces]
        if known is not None:
            result = applied(known, args)
        elif shuffle:
            way = shuffle[1].removeprefix("_") or "idx"
            value = call(f"shfl_{way}", *args[1:], dtype=args[1].dtype)
            result = self._memory.taken_now(value, out)
        elif _WAITS.match(name):
            out.append(Barrier())
        else:
            raise Unreadable(f"a call of {name}, whose code is not there")
        if returned and result is not None:
            values[frame.key(f"{returned}+0")] = result

    def _of_halves(
        self,
        function: re.Match[str],
        brain: bool,
        pieces: Sequence[Pieces],
        returned: str,
        values: Values,
        out: list[Statement],
    ) -> None:
        """A function of a half, which is handed over, or of two, by where result and value lie."""
        op, dtype = function[2].removesuffix("_approx"), "bf16" if brain else "f16"

        def applied_to(value: Expr) -> Expr:
            single = call("cast", as_type(value, dtype), dtype="f32")
            return call("cast", call(op, single, dtype="f32"), dtype=dtype)

        if not function[1]:
            values[returned] = applied_to(_whole(pieces[0]))
            return
        (read,) = self._memory.load("b32", 1, _whole(pieces[1]), values, out)
        parts = unpacked(read, 2, 2)
        if parts is None:
            raise Unreadable("a pair of halves whose parts are not known")
        made = packed([applied_to(each) for each in parts], 2)
        self._memory.store("b32", [made], _whole(pieces[0]), values, out)


def _give(values: Values, key: str, value: Expr | None) -> None:
    """A value, or that there is none: of an object without members, or a variable not yet set."""
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


def pieces_of(values: Values, key: str) -> Pieces:
    """What a parameter holds."""
    found = (each for each in values if each.startswith(f"{key}+"))
    return {int(each.rpartition("+")[2]): values[each] for each in found}


def _taken(values: Values, key: str) -> Pieces:
    """The same, and the parameter empty again: another call has one of that name."""
    found = pieces_of(values, key)
    for at in found:
        del values[f"{key}+{at}"]
    return found


def _whole(pieces: Pieces) -> Expr:
    if tuple(pieces) != (0,):
        raise Unreadable("a parameter in pieces, or one that was never given")
    return pieces[0]


def _typed(value: Expr, kind: str) -> Expr:
    if isinstance(value, Pointer) or kind[0] == "b":
        return value
    return as_type(value, dtype_of(kind))


def _variable(function: Function, name: str):
    return next((each for each in function.variables if each.name == name), None)
