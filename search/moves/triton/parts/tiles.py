"""Two-dimensional tiles of arrays as a kernel loads and stores them: base, axes, bounds."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ...shared.affine import Form
from .masks import Bound, bounds_of
from .nodes import walk
from .source import argument, is_call
from .values import LANE, Definition, Values, block_of, lanes

ONE = Form.number(1)


@dataclass(frozen=True)
class Axis:
    """One axis of a tile, in elements: from `start`, `block` many, `stride` apart in memory."""

    block: str
    start: Form
    stride: Form
    size: Form | None
    """where the array ends, as far as a mask says"""


@dataclass(frozen=True)
class Tile:
    """What a `tl.load` or `tl.store` accesses."""

    access: ast.Call
    statement: ast.stmt
    base: str
    """a parameter of the kernel"""
    offset: Form
    """of the array's first element from the base"""
    axes: tuple[Axis, Axis]
    """rows and columns of the tile"""
    only_bounds: bool
    """nothing but these sizes is in its mask, and it fills with 0 what lies outside"""

    @property
    def transposed(self) -> bool:
        """Whether its rows are what lies side by side in memory."""
        return self.axes[0].stride == ONE and self.axes[1].stride != ONE


@dataclass(frozen=True)
class Main:
    """The loop that walks along the tiles: its variable counts `step` elements a time."""

    loop: ast.For
    variable: str
    block: str
    end: ast.expr
    counts_tiles: bool
    """the variable counts tiles, not elements"""

    @property
    def start(self) -> Form:
        """The first element of an iteration."""
        here = Form.name(self.variable)
        return here * Form.name(self.block) if self.counts_tiles else here


def main_of(values: Values, loop: ast.For) -> Main | None:
    """`for k in range(0, K, BLOCK)` or `range(0, tl.cdiv(K, BLOCK))`, `tl.range` as well."""
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*limits]) as made):
            if ast.unparse(made.func) not in ("range", "tl.range"):
                return None
        case _:
            return None
    match limits:
        case [ast.Constant(value=0), end, ast.Name(id=block)]:
            return Main(loop, name, block, end, counts_tiles=False)
        case [ast.Constant(value=0), end] | [end]:
            count, _ = values.resolved(end, loop)
            if isinstance(count, ast.Call) and ast.unparse(count.func) in (
                "tl.cdiv",
                "triton.cdiv",
            ):
                size, block = count.args
                if isinstance(block, ast.Name):
                    return Main(loop, name, block.id, size, counts_tiles=True)
            return None
        case _:
            return None


def tile_of(values: Values, access: ast.Call, main: Main | None = None) -> Tile | None:
    """The tile of a `tl.load` or `tl.store`; None where its pointer has another form."""
    at = values.statement(access)
    pointer = argument(access, 0, "pointer")
    form = None if pointer is None else _pointer(values, pointer, at, main)
    if pointer is None or form is None:
        return None
    by_axis = [next((n for n in lanes(form) if n.startswith(f"{LANE}{i}: ")), "") for i in (0, 1)]
    if not all(by_axis) or len(lanes(form)) != 2:
        return None
    strides = [form.coefficient(lane) for lane in by_axis]
    base = _base(values, form)
    if base is None or any(s is None or lanes(s) or not s.terms for s in strides):
        return None
    rows, columns = (s for s in strides if s is not None)
    scalar = form.without(*by_axis) - Form.name(base)
    starts, offset = _parted(scalar, (rows, columns), by_axis, main)
    if main is not None and main.variable in offset.names:
        return None
    bounds = bounds_of(values, access, always=False)
    wrapped = _wrapped(values, pointer, at, main)
    known = [b for b in bounds if b is not None]
    axes = [
        Axis(
            block_of(lane), start, stride, _size(known, lane, start) or wrapped.get(block_of(lane))
        )
        for lane, start, stride in zip(by_axis, starts, (rows, columns), strict=True)
    ]
    told = all(b is not None and set(by_axis) & b[0].names for b in bounds)
    return Tile(access, at, base, offset, (axes[0], axes[1]), told and _fills_with_zero(access))


def _pointer(values: Values, node: ast.expr, at: ast.stmt, main: Main | None) -> Form | None:
    """A form; a pointer that is moved on at the end of each iteration counts those."""
    if main is None or not isinstance(node, ast.Name):
        return values.form(node, at)
    steps = [s for s in main.loop.body if _adds_to(s, node.id)]
    if not steps or values.definition(node.id, at) is not None:
        return values.form(node, at)
    if len(steps) > 1 or steps[0].lineno < at.lineno:
        return None
    first = values.definition(node.id, main.loop)
    step = values.form(_added(steps[0], node.id), steps[0])
    begin = None if first is None else values.form(first.value, first.statement)
    if begin is None or step is None or lanes(step):
        return None
    each = step.coefficient(main.block)
    if each is None or each * Form.name(main.block) != step:
        return None
    return begin + each * main.start


def _adds_to(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add()):
            return target == name
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.BinOp(left=ast.Name(id=left), op=ast.Add()),
        ):
            return target == left == name
        case _:
            return False


def _added(statement: ast.stmt, name: str) -> ast.expr:
    match statement:
        case ast.AugAssign(value=value):
            return value
        case ast.Assign(value=ast.BinOp(right=value)):
            return value
        case _:
            raise AssertionError(f"nothing is added to {name}")


def _base(values: Values, form: Form) -> str | None:
    """The one parameter that is added as it is, and is no size: it has no type of its own."""
    alone = [m[0] for m, factor in form.terms if len(m) == 1 and factor == 1]
    pointers = pointer_parameters(values)
    found = [n for n in alone if n in pointers]
    return found[0] if len(found) == 1 else None


def pointer_parameters(values: Values) -> frozenset[str]:
    """Parameters that a load, store or atomic starts from: the leftmost of its sum."""
    kernel = values.kernel
    found = set[str]()
    for node in walk(kernel.function):
        if isinstance(node, ast.Call) and is_access(node):
            found.add(pointer_of(values, node))
    return frozenset(found & set(kernel.parameters))


def pointer_of(values: Values, access: ast.Call) -> str:
    """The leftmost name of the sum that an access goes to, through names; empty: none."""
    pointer = argument(access, 0, "pointer")
    return "" if pointer is None else _leftmost(values, pointer, values.statement(access))


def is_access(node: ast.AST) -> bool:
    """Whether it loads, stores or updates memory through a pointer."""
    return is_call(node, "load", "store", *(f"atomic_{n}" for n in ("add", "max", "min", "xchg")))


def _leftmost(values: Values, node: ast.expr, at: ast.stmt) -> str:
    for _ in range(64):
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub()):
                node = left
            case ast.Name(id=name):
                found = values.definition(name, at)
                if found is None:
                    before = _before_loops(values, name, at)
                    if before is None:
                        return name
                    found = before
                node, at = found.value, found.statement
            case _:
                return ""
    return ""


def _before_loops(values: Values, name: str, at: ast.stmt) -> Definition | None:
    for loop in values.loops(at):
        found = values.definition(name, loop)
        if found is not None:
            return found
    return None


def _parted(
    scalar: Form, strides: tuple[Form, Form], by_axis: list[str], main: Main | None
) -> tuple[list[Form], Form]:
    """Where the tile starts along each axis, and what of the sum is neither.

    A term belongs to an axis when it is a multiple of its stride, and of its block or of the main
    loop's variable.
    """
    starts, rest = [Form(), Form()], Form()
    order = sorted((0, 1), key=lambda i: strides[i] == ONE)
    for names, factor in scalar.terms:
        term = Form.of([(names, factor)])
        for axis in order:
            over = divided(term, strides[axis])
            own = {block_of(by_axis[axis])} | ({main.variable} if main else set[str]())
            if over is not None and own & over.names:
                starts[axis] = starts[axis] + over
                break
        else:
            rest = rest + term
    return starts, rest


def divided(term: Form, by: Form) -> Form | None:
    """The quotient of two products; None where it is none."""
    if len(term.terms) != 1 or len(by.terms) != 1:
        return None
    (names, factor), (under, divisor) = term.terms[0], by.terms[0]
    left = list(names)
    for name in under:
        if name not in left:
            return None
        left.remove(name)
    return None if factor % divisor else Form.of([(tuple(left), factor // divisor)])


def _wrapped(values: Values, pointer: ast.expr, at: ast.stmt, main: Main | None) -> dict[str, Form]:
    """Sizes that lanes are taken modulo of, by their block: `(start + tl.arange(0, B)) % M`."""
    if isinstance(pointer, ast.Name) and main is not None:
        first = values.definition(pointer.id, at) or values.definition(pointer.id, main.loop)
        if first is not None:
            pointer, at = first.value, first.statement
    found = dict[str, Form]()
    for node in walk(values.expanded(pointer, at)):
        match node:
            case ast.BinOp(left=left, op=ast.Mod(), right=ast.Name(id=size)):
                for inner in walk(left):
                    if isinstance(inner, ast.Call) and is_call(inner, "arange"):
                        found[ast.unparse(inner.args[-1])] = Form.name(size)
            case _:
                pass
    return found


def _fills_with_zero(access: ast.Call) -> bool:
    other = argument(access, 2, "other") if is_call(access, "load") else None
    if isinstance(other, ast.IfExp):
        other = other.orelse
    return other is None or (isinstance(other, ast.Constant) and other.value == 0)


def _size(bounds: list[Bound], lane: str, start: Form) -> Form | None:
    """Of `lane + rest < bound`: bound - rest + start."""
    for left, right in bounds:
        if lane in left.names and left.coefficient(lane) == ONE:
            return right - left.without(lane) + start
    return None
