"""Triton kernels in a Python file, read by `ast` and never executed: parameters and their use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from ..dtypes import DTYPES, DtypeName

_JIT = frozenset({"triton.jit", "jit"})
_FLOATS = frozenset("eps epsilon alpha beta gamma scale sm_scale lr momentum".split())
"""Scalars that are fractions by their name, wherever nothing else says what they are."""


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
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and is_jit(n)]
    return {n.name: _jit_function(n, tuned) for n in found}


def decided_at_launch(source: str, entry: str) -> frozenset[str]:
    """The constexprs of a kernel with decorators around its `jit`, such as an autotuner, which may
    give them; none of any other function, nor of text that is not Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = jit_functions(tree).get(entry)
    if found is None or len(found.node.decorator_list) < 2:
        return frozenset()
    return frozenset(p.name for p in found.parameters if p.constexpr)


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


def is_jit(node: ast.FunctionDef) -> bool:
    """Whether a function is Triton's device code."""
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


def bound_arguments(call: ast.Call, function: JitFunction) -> dict[str, ast.expr]:
    """The expression that a call gives to each parameter."""
    names = [p.name for p in function.parameters]
    given = dict(zip(names, call.args, strict=False))
    return given | {k.arg: k.value for k in call.keywords if k.arg in names}


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
