"""Tiles of a matrix product in groups, so that programs which run together share operands in L2."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ....runners.model import Candidate
from ....runners.plans.launch_in_force import launch_in_force
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.kernels import Kernel, Launch, launch_of
from .parts.matmuls import matmul_of
from .parts.nodes import walk
from .parts.source import argument, is_call, same
from .parts.texts import primary
from .parts.values import Values

GROUPS = ((8, 0.3), (4, 0.15), (16, 0.12))
"""rows of tiles in a group, prior: 8 is what Triton's own matmul tutorial starts from"""
GROUPED = NotApplicable("the order of its tiles is grouped already, or is no plain `//` and `%`")


def _write(state: State) -> Proposals:
    found = matmul_of(state)
    if isinstance(found, NotApplicable):
        return found
    kernel, values = found.kernel, found.values
    if any(is_call(n, "swizzle2d", "minimum") or _is_min(n) for n in walk(kernel.function)):
        return GROUPED
    group = kernel.fresh("GROUP_M")
    axes = {a for a, _ in _programs(kernel)}
    if axes == {0, 1}:
        edits = _two_axes(kernel, group)
    elif axes == {0}:
        edits = _one_axis(state, values, group)
    else:
        edits = None
    if edits is None:
        return NotApplicable(
            "its tiles are neither numbered by program_id(0) and program_id(1), nor by "
            "`tile // n` and `tile % n` of one number below `rows * n`"
        )
    return tuple(
        Candidate(
            method=MOVE.method,
            detail=f"tiles in groups of {size} rows ({group})",
            source=kernel.source.edited(
                [*edits, kernel.constant(f"{group}: tl.constexpr = {size}")]
            ),
            prior=prior,
        )
        for size, prior in GROUPS
    )


def _is_min(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "min"


def _programs(kernel: Kernel) -> list[tuple[int, ast.Call]]:
    """Every `tl.program_id(axis)`."""
    found = list[tuple[int, ast.Call]]()
    for node in walk(kernel.function):
        if isinstance(node, ast.Call) and is_call(node, "program_id"):
            axis = argument(node, 0, "axis")
            number = axis.value if isinstance(axis, ast.Constant) else None
            found.append((number if isinstance(number, int) else -1, node))
    return found


def _two_axes(kernel: Kernel, group: str) -> list[Edit]:
    """Programs start along x first: the number along y counts whole rows of them."""
    names = [kernel.fresh(n) for n in ("tile_x", "tile_y")]
    edits = [kernel.source.replace(call, names[axis]) for axis, call in _programs(kernel)]
    line = (
        f"{names[1]}, {names[0]} = tl.swizzle2d(tl.program_id(1), tl.program_id(0), "
        f"tl.num_programs(1), tl.num_programs(0), {group})"
    )
    return [*edits, kernel.source.before(kernel.body[0], line)]


def _one_axis(state: State, values: Values, group: str) -> list[Edit] | None:
    """`row = tile // n` and `column = tile % n`, of as many tiles as rows times columns."""
    kernel = values.kernel
    pair = _pair(kernel)
    if pair is None:
        return None
    row, column = (split.name for split in pair)
    last = max((split.statement for split in pair), key=lambda s: s.lineno)
    tile, across = pair[0].value.left, kernel.source.text(pair[0].value.right)
    count = _count(state, values, tile, last)
    if count is None:
        return None
    rows = f"{count} // {primary(across)}"
    line = f"{row}, {column} = tl.swizzle2d({row}, {column}, {rows}, {across}, {group})"
    return [kernel.source.after(last, line)]


@dataclass(frozen=True)
class Split:
    """`name = value`, a division or a remainder."""

    name: str
    value: ast.BinOp
    statement: ast.stmt


def _pair(kernel: Kernel) -> tuple[Split, Split] | None:
    found: dict[type[ast.operator], list[Split]] = {ast.FloorDiv: [], ast.Mod: []}
    for node in walk(kernel.function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        for name, value in _named(node.targets[0], node.value):
            if isinstance(value, ast.BinOp) and type(value.op) in found:
                found[type(value.op)].append(Split(name, value, node))
    pairs = [
        (row, column)
        for row in found[ast.FloorDiv]
        for column in found[ast.Mod]
        if same(row.value.left, column.value.left) and same(row.value.right, column.value.right)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _named(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            return [(name, value)]
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            pairs = zip(targets, values, strict=False)
            return [(t.id, v) for t, v in pairs if isinstance(t, ast.Name)]
        case _:
            return []


def _count(state: State, values: Values, tile: ast.expr, at: ast.stmt) -> str | None:
    """How many tiles there are: programs, or the end of the loop that numbers them.

    None where it is not written as a product: then rows may not be whole.
    """
    number, _ = values.resolved(tile, at)
    for loop in values.loops(at):
        if isinstance(number, ast.Name) and isinstance(loop.target, ast.Name):
            if loop.target.id == number.id and isinstance(loop.iter, ast.Call):
                end = loop.iter.args[min(1, len(loop.iter.args) - 1)]
                return primary(values.kernel.source.text(end)) if _is_product(end) else None
    launch = launch_of(state, values.kernel)
    if isinstance(launch, Launch):
        whole = len(launch.grid) == 1 and _is_product(launch.grid[0])
    else:
        ours = launch_in_force(state.spec.kernel, state.plan)
        size, *others = (1, 1) if ours is None else ours.grid
        whole = all(n == 1 for n in others) and _is_product(ast.parse(str(size), mode="eval").body)
    return "tl.num_programs(0)" if whole else None


def _is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


MOVE = Move(
    id="grouped_program_order",
    method="grouped_gemm_colmajor",
    languages=("triton",),
    why="Numbers the tiles of a matrix product in groups of GROUP_M rows, as `tl.swizzle2d` does, "
    "so that programs that run at the same time read the same rows of A and columns of B, and find "
    "them in L2. Pays for matrices that do not fit in L2.",
    write=_write,
)
