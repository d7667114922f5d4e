"""What a Triton kernel does with the memory behind its parameters, read by `ast`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .triton_signature import JitFunction, bound_arguments, dotted, last

_SAME_POINTER = frozenset(
    "to broadcast_to advance multiple_of max_contiguous max_constancy".split()
)
_MADE = frozenset(
    "make_block_ptr make_tensor_descriptor _experimental_make_tensor_descriptor".split()
)
_LOADS, _STORES = frozenset({"load", "gather"}), frozenset({"store", "scatter"})
POINTER_LIKE = re.compile(r"(?i)(\w*_)?(p|ptr|pointer)|\w+ptr|\w+_ptrs?")
"""Parameters that are addresses by their name, wherever they are not used at all."""


@dataclass(slots=True)
class PointerUse:
    """What is done with the memory behind one parameter."""

    read: bool = False
    written: bool = False
    atomic: bool = False
    unclear: list[str] = field(default_factory=list[str])
    """where the pointer goes that could not be followed"""

    def add(self, other: PointerUse) -> None:
        """Take over what another function does with the same memory."""
        self.read, self.written = self.read or other.read, self.written or other.written
        self.atomic = self.atomic or other.atomic
        self.unclear += other.unclear


def pointer_uses(
    function: JitFunction, jits: Mapping[str, JitFunction], above: frozenset[str] = frozenset()
) -> dict[str, PointerUse]:
    """What the function, and what it calls, does with the memory behind each parameter.

    Parameters that never make an address are left out: they are numbers.
    """
    return _Pointers(function, jits, above | {function.name}).read()


class _Pointers:
    """Follows addresses through one jit function, without regard to control flow."""

    def __init__(
        self, function: JitFunction, jits: Mapping[str, JitFunction], above: frozenset[str]
    ) -> None:
        self.function, self.jits, self.above = function, jits, above
        self.names = {p.name for p in function.parameters if not p.constexpr and p.dtype is None}
        self.numbers = _numbers(function.node)
        self.origins: dict[str, set[str]] = {}
        self.found: dict[str, PointerUse] = {}

    def read(self) -> dict[str, PointerUse]:
        nodes = list(ast.walk(self.function.node))
        before = -1
        while before != (before := sum(map(len, self.origins.values()))):
            for node in nodes:
                self._bind(node)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._call(node)
        return self.found

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._add(name, value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, ast.Name):
                        self._add(target.id, value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._add(name, value)
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                self._add(name, value)
            case _:
                pass

    def _add(self, name: str, value: ast.expr) -> None:
        if made := self.origin(value):
            self.origins.setdefault(name, set()).update(made)

    def origin(self, node: ast.expr | None) -> set[str]:
        """The parameters that an address may start from."""
        match node:
            case ast.Name(id=name):
                own = {name} & self.names
                return own | self.origins.get(name, set())
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return self._likely(self.origin(left), self.origin(right))
            case ast.IfExp(body=body, orelse=orelse):
                return self.origin(body) | self.origin(orelse)
            case ast.Subscript(value=value):
                return self.origin(value)
            case ast.Call(func=func, args=args):
                return self._of_call(func, args, node)
            case _:
                return set()

    def _likely(self, left: set[str], right: set[str]) -> set[str]:
        """Of two operands one is the address: not what is multiplied elsewhere, else the first."""
        for candidates in (left - self.numbers, right - self.numbers, left, right):
            if candidates:
                return candidates
        return set()

    def _of_call(self, func: ast.expr, args: list[ast.expr], call: ast.Call) -> set[str]:
        name = last(func)
        if isinstance(func, ast.Attribute) and name == "to":
            return self.origin(func.value)
        if name in _MADE:
            base = next((k.value for k in call.keywords if k.arg == "base"), None)
            return self.origin(base or (args[0] if args else None))
        if name == "where" and len(args) == 3:
            return self.origin(args[1]) | self.origin(args[2])
        return self.origin(args[0]) if name in _SAME_POINTER and args else set()

    def _call(self, call: ast.Call) -> None:
        name = last(call.func)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        described = self.origin(owner) if owner is not None else set[str]()
        where = described or self.origin(_first(call))
        if dotted(call.func) in self.jits:
            self._helper(call, self.jits[dotted(call.func)])
        elif name.startswith("atomic_"):
            self._note(where, lambda use: setattr(use, "atomic", True))
        elif name in _LOADS:
            self._note(where, lambda use: setattr(use, "read", True))
        elif name in _STORES:
            self._note(where, lambda use: setattr(use, "written", True))
        elif isinstance(call.func, ast.Name):
            given = set[str]().union(*(self.origin(a) for a in call.args))
            unclear = {n for n in given if POINTER_LIKE.fullmatch(n)}
            self._note(unclear, lambda use: use.unclear.append(f"the function `{name}`"))

    def _note(self, names: set[str], change: Callable[[PointerUse], None]) -> None:
        for name in names:
            change(self.found.setdefault(name, PointerUse()))

    def _helper(self, call: ast.Call, helper: JitFunction) -> None:
        if helper.name in self.above:
            return
        inside = pointer_uses(helper, self.jits, self.above)
        for name, value in bound_arguments(call, helper).items():
            if name in inside:
                self._note(self.origin(value), lambda use, name=name: use.add(inside[name]))


def _first(call: ast.Call) -> ast.expr | None:
    if call.args:
        return call.args[0]
    return next((k.value for k in call.keywords if k.arg == "pointer"), None)


def _numbers(node: ast.FunctionDef) -> set[str]:
    """Names that are multiplied, divided or compared: no addresses."""
    found = set[str]()
    for inner in ast.walk(node):
        sides: list[ast.expr] = []
        if isinstance(inner, ast.BinOp) and not isinstance(inner.op, ast.Add | ast.Sub):
            sides = [inner.left, inner.right]
        elif isinstance(inner, ast.Compare) and not isinstance(inner.ops[0], ast.Is | ast.IsNot):
            sides = [inner.left, *inner.comparators]
        found |= {side.id for side in sides if isinstance(side, ast.Name)}
    return found
