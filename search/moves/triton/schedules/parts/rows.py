"""Candidates of folds: along rows whose elements lie side by side, and down columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ......analysis.lift.expressions import Expr, Number
from ......analysis.lift.statements import Dim, Scatter
from ......runners.model import Candidate
from ......runners.specs.expressions import next_pow2
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import largest, workload_values
from ....shared.lifted.row_program import COLUMN, RowProgram, row_program
from .candidates import candidate_of
from .folds import SHARE, FoldText, Shape, side_by_side
from .grids import Tile
from .kernel_text import KernelText
from .plain import Plain, written_from
from .products import is_contraction
from .shared_columns import SHARES, shared_columns, shares_of

LONGEST = 1 << 16
"""columns of a row that one block holds: 128 a thread of 16 warps"""
A_THREAD, WARP, MOST_WARPS = 16, 32, 16
SHORT = 2048
"""columns of rows of which a program takes several"""
LOOPED = 2048
DOWN = (((256, 32), 16, 0.5), ((128, 64), 16, 0.45), ((32, 64), 4, 0.4), ((64, 32), 4, 0.3))
"""rows and columns of a block that goes down its columns, warps, prior: with few columns to a
device, loads under way in each program are what counts"""


def rows(state: State) -> Proposals:
    """Candidates of folds along rows, or why there are none."""
    return written_from(state, lambda plain: tuple(_rows(plain)), "row")


def columns(state: State) -> Proposals:
    """Candidates of folds down columns, or why there are none."""
    return written_from(state, lambda plain: tuple(_columns(plain)), "column")


def _rows(plain: Plain) -> Iterator[Candidate]:
    program = _program(plain)
    if side_by_side(plain, program) != COLUMN:
        raise Unwritable("what it folds does not lie side by side in a row")
    usual = max(workload_values(program.columns, plain), default=LOOPED)
    warps = max(1, min(MOST_WARPS, next_pow2(usual) // (WARP * A_THREAD)))
    if is_held(plain, program.columns):
        if usual <= SHORT and program.outer:
            some = max(2, SHORT // next_pow2(usual))
            yield _row_candidate(plain, program, some, 4, 0.45)
        yield _row_candidate(plain, program, 1, warps, 0.55)
    if usual > LOOPED or not is_held(plain, program.columns):
        yield _row_candidate(plain, program, 0, min(8, warps), 0.3)


def _program(plain: Plain) -> RowProgram:
    """Raises Unwritable."""
    if is_contraction(plain):
        raise Unwritable("rows and columns share what it folds, as in a product of matrices")
    return row_program(plain)


def is_held(plain: Plain, columns: Expr) -> bool:
    """Whether a row surely fits in a block."""
    return largest(columns, plain) <= LONGEST


def _row_candidate(
    plain: Plain, program: RowProgram, several: int, warps: int, prior: float
) -> Candidate:
    """`several`: rows that a program has at once; 0: a row in a loop."""
    text = KernelText(plain, rank=2 if several > 1 else 1)
    tiles = list[Tile]()
    for at, dim in enumerate(program.outer):
        last = at == len(program.outer) - 1
        called = text.names.fresh("row" if last else "outer")
        block = text.constant("ROWS", several) if last and several > 1 else ""
        tiles.append(Tile(dim, called, block, 0 if block else None))
    if several:
        block = text.held(program.columns)
        told = f"a row in one block, {several} a program" if several > 1 else "a row in one block"
    else:
        block = text.constant("BLOCK", LOOPED)
        told = f"a row in blocks of {LOOPED}, partial results in every lane"
    shape = Shape(tuple(tiles), text.rank - 1, block, whole=several > 0)
    return _written(program, text, shape, told, "coalesce_global_accesses", warps, prior)


def _columns(plain: Plain) -> Iterator[Candidate]:
    program = _program(plain)
    along = side_by_side(plain, program)
    if along == COLUMN:
        raise Unwritable("neighbouring places do not lie side by side in what it folds")
    beside = next(d for d in program.outer if d.name == along)
    for sizes, warps, prior in DOWN:
        yield _column_candidate(plain, program, beside, sizes, warps, prior)
    with suppress(Unwritable):  # what one launch does is right at every size, only slower at some
        yield shared_columns(plain, program, beside)
    if _in_any_order(program):
        for sizes, warps, prior in DOWN[2:]:
            yield _column_candidate(plain, program, beside, sizes, warps, prior + 0.2, shared=True)


def _in_any_order(program: RowProgram) -> bool:
    """Whether all that is done are sums added to memory in any order, as the kernel's own were."""
    (step, *later) = program.passes
    sums = {r.fold for r in step if r.kind == "sum" and r.first == Number(0.0, r.fold.dtype)}
    return (
        not later
        and not program.elements
        and all(
            isinstance(each, Scatter) and each.op == "add" and each.value in sums
            for each in program.ends
        )
    )


def _column_candidate(
    plain: Plain,
    program: RowProgram,
    beside: Dim,
    sizes: tuple[int, int],
    warps: int,
    prior: float,
    *,
    shared: bool = False,
) -> Candidate:
    text = KernelText(plain, rank=2)
    across = text.constant("BLOCK_COLUMNS", sizes[1])
    down = text.constant("BLOCK_ROWS", sizes[0])
    others = [d for d in program.outer if d is not beside]
    tiles = [Tile(d, text.names.fresh("outer")) for d in others]
    told = f"{sizes[1]} neighbouring places, {sizes[0]} of what each folds at a time"
    share = None
    if shared:
        share = Tile(Dim(SHARES, shares_of(program)), text.names.fresh("share"))
        tiles.append(share)
        told += f", {SHARE} a program"
    tiles.append(Tile(beside, text.names.fresh("place"), across, 1))
    shape = Shape(tuple(tiles), 0, down, whole=False, share=share)
    return _written(program, text, shape, told, "coalesce_global_accesses", warps, prior)


def _written(
    program: RowProgram,
    text: KernelText,
    shape: Shape,
    told: str,
    method: str,
    warps: int,
    prior: float,
) -> Candidate:
    FoldText(text, program, shape).write()
    return candidate_of(text, shape.tiles, told, method=method, prior=prior, warps=warps)
