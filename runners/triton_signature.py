"""Triton kernels in a Python file, read by `ast` and never executed: parameters and their use."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from .dtypes import DTYPES, DtypeName

_JIT = frozenset({"triton.jit", "jit"})
_SAME_POINTER = frozenset(
    "to broadcast_to advance multiple_of max_contiguous max_constancy".split()
)
_MADE = frozenset(
    "make_block_ptr make_tensor_descriptor _experimental_make_tensor_descriptor".split()
)
_LOADS, _STORES = frozenset({"load", "gather"}), frozenset({"store", "scatter"})
_FLOATS = frozenset("eps epsilon alpha beta gamma scale sm_scale lr momentum".split())
"""Scalars that are fractions by their name, wherever nothing else says what they are."""


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


@dataclass(frozen=True, slots=True)
class JitParameter:
    """A parameter of a `@triton.jit` function."""

    name: str
    constexpr: bool
    dtype: DtypeName | None
    """as annotated"""
    default: object
    """None: none, or none that is a number"""


@dataclass(frozen=True, slots=True)
class JitFunction:
    """A `@triton.jit` function."""

    name: str
    node: ast.FunctionDef
    parameters: tuple[JitParameter, ...]
    supplied: frozenset[str]
    """constexprs that autotune or heuristics give"""
    calls: frozenset[str]
    """names of functions that it calls"""

    @property
    def used(self) -> set[str]:
        """Parameters that the launch itself has to give."""
        return {p.name for p in self.parameters if p.name not in self.supplied}


def jit_functions(tree: ast.Module) -> dict[str, JitFunction]:
    """The module's `@triton.jit` functions by name, in order."""
    tuned = _tuned_names(tree)
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and _is_jit(n)]
    return {n.name: _jit_function(n, tuned) for n in found}


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an attribute chain, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (before := dotted(node.value)):
        return f"{before}.{node.attr}"
    return ""


def last(node: ast.AST) -> str:
    """The last name of a function that is called: `load` of `tl.load` or `desc.load`."""
    return node.attr if isinstance(node, ast.Attribute) else dotted(node)


def _decorator(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node)


def _is_jit(node: ast.FunctionDef) -> bool:
    return any(_decorator(d) in _JIT for d in node.decorator_list)


def _tuned_names(tree: ast.Module) -> frozenset[str]:
    """Every name that a `triton.Config({...})` anywhere in the module binds."""
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and last(n.func) == "Config")
    return frozenset(name for call in calls for arg in call.args for name in _keys(arg))


def _keys(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Dict):
        yield from (
            k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
        )


def _jit_function(node: ast.FunctionDef, tuned: frozenset[str]) -> JitFunction:
    decorators = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    autotuned = any(last(d.func) == "autotune" for d in decorators)
    supplied = set(tuned) if autotuned else set[str]()
    for decorator in decorators:
        if last(decorator.func) == "heuristics":
            supplied |= {name for arg in decorator.args for name in _keys(arg)}
            supplied |= {name for k in decorator.keywords for name in _keys(k.value)}
    calls = {dotted(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return JitFunction(
        node.name, node, tuple(_parameters(node)), frozenset(supplied), frozenset(calls)
    )


def _parameters(node: ast.FunctionDef) -> Iterator[JitParameter]:
    listed = [*node.args.posonlyargs, *node.args.args]
    defaults = [*[None] * (len(listed) - len(node.args.defaults)), *node.args.defaults]
    pairs = [*zip(listed, defaults, strict=True)]
    pairs += [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
    for argument, default in pairs:
        said = annotation(argument)
        value = default.value if isinstance(default, ast.Constant) else None
        yield JitParameter(argument.arg, said == "constexpr", annotated_dtype(said), value)


def annotation(argument: ast.arg) -> str:
    """The last name of an annotation, also of one that is written as a text."""
    node = argument.annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.rsplit(".", 1)[-1].strip()
    return last(node) if node is not None else ""


def annotated_dtype(said: str) -> DtypeName | None:
    """The dtype that an annotation names."""
    plain = {"int": "int32", "float": "float32", "int1": "bool"}.get(said, said)
    return cast(DtypeName, plain) if plain in DTYPES else None


def scalar_dtype(name: str, said: DtypeName | None, default: object = None) -> DtypeName:
    """The dtype of a scalar: as annotated, as its default, as its name; else int32."""
    if said is not None:
        return said
    if isinstance(default, bool):
        return "bool"
    return "float32" if isinstance(default, float) or name.lower() in _FLOATS else "int32"


POINTER_LIKE = re.compile(r"(?i)(\w*_)?(p|ptr|pointer)|\w+ptr|\w+_ptrs?")
"""Parameters that are addresses by their name, wherever they are not used at all."""


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


def bound_arguments(call: ast.Call, function: JitFunction) -> dict[str, ast.expr]:
    """The expression that a call gives to each parameter."""
    names = [p.name for p in function.parameters]
    given = dict(zip(names, call.args, strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg in names}


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


BLOCK_LIKE = re.compile(
    r"(?i)(\w*_)?(block|tile|chunk|group)(_?\w+)?|B[MNKHWCDS]|num_(warps|stages)"
)


def choices(name: str, default: object, several: bool) -> tuple[tuple[int, ...], int]:
    """Values worth trying for a block-like constexpr, and the one to start from.

    Powers of two around what Triton's own tutorials use: 1024 elements for a block alone,
    32 a side where blocks have several, 8 for the height of a group.
    """
    lowered = name.lower()
    if lowered == "num_warps":
        values, start = (1, 2, 4, 8, 16), 4
    elif lowered == "num_stages":
        values, start = (1, 2, 3, 4, 5), 3
    elif "group" in lowered:
        values, start = (1, 2, 4, 8, 16), 8
    elif several:
        values, start = (16, 32, 64, 128, 256), 32
    else:
        values, start = (128, 256, 512, 1024, 2048, 4096), 1024
    if isinstance(default, int) and not isinstance(default, bool) and default > 0:
        return tuple(sorted({*values, default})), default
    return values, start
