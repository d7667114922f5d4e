"""Kernels that multiply matrices: the main loop, `tl.dot`, and the tiles of both operands."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ...shared.base import NotApplicable, State
from .kernels import Kernel, kernels_of
from .nodes import walk
from .source import argument, is_call
from .texts import text_of
from .tiles import Main, Tile, main_of, tile_of
from .values import Values


@dataclass(frozen=True)
class Operand:
    """One side of `tl.dot`."""

    given: ast.expr
    load: ast.Call | None
    """where it comes from, through names and conversions"""
    tile: Tile | None


@dataclass(frozen=True)
class Matmul:
    """`acc += tl.dot(a, b)` in a loop over K."""

    values: Values
    main: Main
    update: ast.stmt
    accumulator: str
    dot: ast.Call
    a: Operand
    b: Operand

    @property
    def blocks(self) -> tuple[str | None, str | None]:
        """Names of the tile's rows and columns."""
        a, b = self.a.tile, self.b.tile
        rows = None if a is None else _identifier(a.axes[0].block)
        return rows, None if b is None else _identifier(b.axes[1].block)

    @property
    def sizes(self) -> tuple[str | None, str | None, str | None]:
        """Names of M, N and K, as far as masks tell them."""
        a, b = self.a.tile, self.b.tile
        found = [
            None if a is None else a.axes[0].size,
            None if b is None else b.axes[1].size,
            None if a is None else a.axes[1].size,
        ]
        names = [None if f is None else _identifier(text_of(f)) for f in found]
        return names[0], names[1], names[2]

    @property
    def precision(self) -> str:
        """`input_precision` of tl.dot: Triton's default for fp32 operands is tf32."""
        given = argument(self.dot, 3, "input_precision")
        allowed = argument(self.dot, 4, "allow_tf32")
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            return given.value
        return "ieee" if isinstance(allowed, ast.Constant) and not allowed.value else "tf32"

    @property
    def kernel(self) -> Kernel:
        """Where it stands."""
        return self.values.kernel


def matmul_of(state: State) -> Matmul | NotApplicable:
    """The one matrix product of a source."""
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found = [(k, d) for k in kernels for d in walk(k.function) if is_call(d, "dot")]
    if len(found) != 1:
        words = "no tl.dot" if not found else "more than one tl.dot"
        return NotApplicable(f"the source has {words}")
    kernel, dot = found[0]
    assert isinstance(dot, ast.Call)
    values = Values(kernel)
    loop = next(values.loops(dot), None)
    main = None if loop is None else main_of(values, loop)
    if main is None:
        return NotApplicable("tl.dot stands in no loop `for k in range(0, K, BLOCK)`")
    update = values.statement(dot)
    accumulator = _accumulator(update, dot)
    if accumulator is None:
        return NotApplicable("the result of tl.dot is not added to an accumulator in its statement")
    a, b = (_operand(values, dot.args[i], update, main) for i in (0, 1))
    return Matmul(values, main, update, accumulator, dot, a, b)


def _identifier(text: str) -> str | None:
    return text if text.isidentifier() else None


def _accumulator(update: ast.stmt, dot: ast.Call) -> str | None:
    match update:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if value is dot:
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is dot:
            acc = argument(dot, 2, "acc")
            return name if isinstance(acc, ast.Name) and acc.id == name else None
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp(op=ast.Add()) as both):
            other = both.right if both.left is dot else both.left
            if dot in (both.left, both.right) and isinstance(other, ast.Name):
                return name if other.id == name else None
            return None
        case _:
            return None


def _operand(values: Values, given: ast.expr, at: ast.stmt, main: Main) -> Operand:
    node = given
    while True:
        node, at = values.resolved(node, at)
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="to")) if not is_call(node, "to"):
                node = inner
            case ast.IfExp(orelse=inner):
                node = inner
            case _:
                break
    if not is_call(node, "load"):
        return Operand(given, None, None)
    assert isinstance(node, ast.Call)
    known = node in values.parents  # an expanded copy has no place
    return Operand(given, node, tile_of(values, node, main) if known else None)
