"""Triton's kernels in the Python that Inductor writes: source, arguments, and what they compute.

Which value of the graph a buffer holds follows from the comment before each kernel: it returns its
values in the order in which buffers are numbered. Values of the graph are then found by name, and
no operator is read out of comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

RETURNS = re.compile(r"^#   return (%\S+)$", re.MULTILINE)
BUFFER = re.compile(r"buf(\d+)")


@dataclass(frozen=True, slots=True)
class Pointer:
    """An array that a kernel is given: what it holds before (`reads`) and after (`writes`)."""

    name: str
    reads: str | None
    """the value of the graph; None: it is not looked at"""
    writes: str | None
    """None: it is left as it is"""


@dataclass(frozen=True, slots=True)
class InductorKernel:
    """One kernel with its one call."""

    name: str
    source: str
    """the module that Inductor writes for it"""
    pointers: tuple[Pointer, ...]
    numbers: Mapping[str, int]
    """integers that it is passed"""
    order: tuple[str, ...]
    """of all that it is passed"""
    tiles: tuple[str, ...]
    """constexprs that its launch chooses"""
    signature: Mapping[str, str]
    grid: tuple[str, ...]
    """along x, y, z: `cdiv(xnumel, XBLOCK)`"""


def inductor_kernels(code: str) -> tuple[InductorKernel, ...]:
    """The kernels that a call launches, in order. Kernels with a grid of another kind, or called
    with anything but whole buffers and numbers, are left out."""
    tree, values = ast.parse(code), _values(code)
    sources = dict(_sources(tree))
    found = list[InductorKernel]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if node.func.attr == "run" and isinstance(owner, ast.Name) and owner.id in sources:
                made = _kernel(owner.id, sources[owner.id], node.args, values)
                found += [made] if made is not None else []
    return tuple(found)


def _values(code: str) -> list[str]:
    """By number of a buffer the value of the graph that it holds."""
    return [name for line in RETURNS.findall(code) for name in line.replace("%", "").split(",")]


def _sources(tree: ast.Module):
    for node in tree.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        if ast.unparse(call.func) == "async_compile.triton":
            name, source = (cast("ast.Constant", each).value for each in call.args[:2])
            yield str(name), str(source)


def _kernel(
    name: str, source: str, given: list[ast.expr], values: list[str]
) -> InductorKernel | None:
    function, meta = _function(source)
    if function is None or meta is None:
        return None
    signature = {str(k): str(v) for k, v in meta["triton_meta"].items()}
    passed = tuple(n for n, type_ in signature.items() if type_ != "constexpr")
    grid = _grid(meta["grid_type"], passed)
    if grid is None or len(given) != len(passed):
        return None
    pointers, numbers = list[Pointer](), dict[str, int]()
    for parameter, argument in zip(passed, given, strict=True):
        if signature[parameter].startswith("*"):
            value = _value(argument, values)
            if value is None:
                return None
            reads = re.search(rf"tl\.load\({parameter}\b", source) is not None
            writes = re.search(rf"tl\.(store|atomic_\w+)\({parameter}\b", source) is not None
            pointers.append(Pointer(parameter, value if reads else None, value if writes else None))
        elif isinstance(argument, ast.Constant) and isinstance(argument.value, int):
            numbers[parameter] = argument.value
        else:
            return None
    if any(p.reads and p.writes for p in pointers):
        return None  # before, its buffer held another value than the one that it is called after
    tiles = tuple(n for n, type_ in signature.items() if type_ == "constexpr")
    return InductorKernel(name, source, tuple(pointers), numbers, passed, tiles, signature, grid)


def _function(source: str) -> tuple[ast.FunctionDef | None, dict[str, Any] | None]:
    """The kernel, and its signature and kind of grid, from the decorator that tunes it."""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and "triton_heuristics" in ast.unparse(
                decorator.func
            ):
                named = {k.arg: k.value for k in decorator.keywords}
                return node, {
                    "triton_meta": _entry(named["triton_meta"], "signature"),
                    "grid_type": _entry(named["inductor_meta"], "grid_type"),
                }
    return None, None


def _entry(node: ast.expr, key: str) -> Any:
    """An entry of a dict that is written out, others of which may be calls."""
    assert isinstance(node, ast.Dict)
    for name, value in zip(node.keys, node.values, strict=True):
        if isinstance(name, ast.Constant) and name.value == key:
            return ast.literal_eval(value)
    return None


def _grid(kind: str, passed: tuple[str, ...]) -> tuple[str, ...] | None:
    axes = {"Grid1D": "x", "Grid2D": "xy", "Grid3D": "xyz"}.get(kind)
    if axes is None or any(f"{axis}numel" not in passed for axis in axes):
        return None
    return tuple(f"cdiv({axis}numel, {axis.upper()}BLOCK)" for axis in axes)


def _value(argument: ast.expr, values: list[str]) -> str | None:
    if not isinstance(argument, ast.Name):
        return None
    found = BUFFER.fullmatch(argument.id)
    if found is None:
        return argument.id
    number = int(found[1])
    return values[number] if number < len(values) else None
