"""Products of matrices, written anew: tiles of the output by `tl.dot`, in groups of rows of tiles.

Operands of half precision stay in it, as `tl.dot` sums in float32; those of float32 are multiplied
as exactly as the contract's math says: in TF32 only where that allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import Call, Expr, Load, Number
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.contraction import Contraction, contraction
from ....shared.lifted.row_program import COLUMN
from ....shared.lifted.waves import busiest_area, multiprocessors, workload_sizes
from .candidates import candidate_of
from .grids import Tile
from .kernel_text import KernelText
from .plain import Plain, written_from
from .tile_text import Index

METHOD = "switch_to_mma_or_wgmma"
"""of the catalogue"""
HALVES = ("f16", "bf16")


@dataclass(frozen=True)
class Sizes:
    """Of a tile, and what it is built with."""

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    rate: float
    """share of a multiprocessor's arithmetic, when it has its fill of them"""


ON_TENSOR_CORES = (
    Sizes(128, 256, 64, 8, 3, 1.0),
    Sizes(128, 128, 64, 8, 3, 0.95),
    Sizes(64, 64, 64, 4, 4, 0.65),
    Sizes(128, 64, 32, 4, 4, 0.75),
)
ON_CUDA_CORES = (Sizes(64, 64, 16, 4, 3, 1.0), Sizes(128, 64, 16, 8, 3, 0.95))
MOST_SUMS, USUAL_WARPS = 128, 4
"""that a thread has registers for; of a program, where nobody says how many"""
PRIOR, MOST = 0.7, 3
"""of those of which the least time is expected; how many there are"""


def products(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: tuple(_candidates(plain)), "product of tiles")


def is_contraction(plain: Plain) -> bool:
    """Whether rows and columns share what is folded, as in a product of matrices."""
    try:
        contraction(plain, plain.names())
    except Unwritable:
        return False
    return True


def _candidates(plain: Plain) -> Iterator[Candidate]:
    found = contraction(plain, plain.names())
    left, _ = _operands(found)
    half = left.dtype in HALVES
    precision = "" if half else _precision(plain)
    choices = ON_TENSOR_CORES if half or "tf32" in precision else ON_CUDA_CORES
    for sizes, prior in _by_time(plain, found, choices):
        yield _candidate(plain, sizes, prior, precision)


def _by_time(
    plain: Plain, found: Contraction, choices: Sequence[Sizes]
) -> list[tuple[Sizes, float]]:
    """The first few by the time that they are expected to take for the visible workloads, with
    their priors: that no multiprocessor waits for another one's last tiles is what counts."""
    workloads, many = workload_sizes(found, plain), multiprocessors(plain.spec)
    times = {
        each: sum(busiest_area(s, (each.rows, each.columns), many) for s in workloads) / each.rate
        or 1.0
        for each in choices
        if each.rows * each.columns <= MOST_SUMS * _threads(plain, each)
    }
    best = sorted(times, key=lambda each: times[each])[:MOST]
    return [(each, PRIOR * times[best[0]] / times[each]) for each in best]


def _threads(plain: Plain, sizes: Sizes) -> int:
    """Of a program: as many as it is built for, where the state has a say in that."""
    warps = plain.spec.parameters.get("num_warps")
    return 32 * (sizes.warps if warps and sizes.warps in warps.values else USUAL_WARPS)


def _precision(plain: Plain) -> str:
    name = "ieee" if plain.spec.io.math == "ieee" else "tf32"
    return f', input_precision="{name}"'


def _operands(found: Contraction) -> tuple[Expr, Expr]:
    """What is multiplied, of the narrowest type that holds it. Raises Unwritable."""
    term = found.reduction.term
    if found.reduction.kind != "sum" or not isinstance(term, Call) or term.op != "mul":
        raise Unwritable("what it sums are no products")
    if len(found.left) != 1 or len(found.right) != 1:
        raise Unwritable("a side of its products is made of several values")
    if {*term.args} != {found.left[0], found.right[0]}:
        raise Unwritable("what it sums are more than products of one value a side")
    sides = found.left[0], found.right[0]
    bare = [e.args[0] if isinstance(e, Call) and e.op == "cast" else e for e in sides]
    if bare[0].dtype == bare[1].dtype and bare[0].dtype in HALVES:
        return bare[0], bare[1]
    return sides


def _candidate(plain: Plain, sizes: Sizes, prior: float, precision: str) -> Candidate:
    text = KernelText(plain, rank=2)
    found = contraction(plain, text.names)
    m, n, k = (
        text.constant(name, value)
        for name, value in (
            ("BLOCK_M", sizes.rows),
            ("BLOCK_N", sizes.columns),
            ("BLOCK_K", sizes.depth),
        )
    )
    group = text.constant("GROUP_M", 8)
    tiles = [
        *(Tile(d, text.names.fresh("batch")) for d in found.others),
        Tile(found.rows, found.rows.name, m, 0),
        Tile(found.columns, found.columns.name, n, 1),
    ]
    text.begun(tiles, group)
    _sum(text, found, (m, n, k), precision)
    text.lines.statements(found.body)
    told = f"tiles of {sizes.rows} x {sizes.columns} by tl.dot, {sizes.depth} of the sum at a time"
    return candidate_of(
        text,
        tiles,
        told,
        method=METHOD,
        prior=prior,
        warps=sizes.warps,
        stages=sizes.stages,
    )


def _sum(
    text: KernelText, found: Contraction, blocks: tuple[str, str, str], precision: str
) -> None:
    """The loop over the sum, and its value as what the fold is."""
    lines, names, reduction = text.lines, text.names, found.reduction
    m, n, depth = blocks
    if reduction.start != Number(0):
        raise Unwritable("a sum that begins behind its first element")
    left, right = _operands(found)
    total, start, k = names.fresh("total"), names.fresh("start"), names.fresh("k")
    lines.add(f"{total} = tl.zeros(({m}, {n}), dtype=tl.float32)")
    known = dict(text.writer.known)
    size = text.size(reduction.columns)
    lines.inside(f"for {start} in range(0, {size}, {depth}):")
    wide = ".to(tl.int64)" if text.wide else ""
    lines.add(f"{k} = {start} + tl.arange(0, {depth}){wide}")
    one = _side(text, left, f"{k}[None, :]", found, known)
    other = _side(text, right, f"{k}[:, None]", found, known)
    lines.add(f"{total} = tl.dot({one}, {other}, {total}{precision})")
    lines.ended(known)
    del text.writer.indices[COLUMN]
    value, first = total, reduction.first
    if not (isinstance(first, Number) and first.value == 0):
        lines.values([first])
        value = names.fresh("value")
        lines.add(f"{value} = {text.writer.text(first, 6)} + {total}")
    text.writer.known[reduction.fold] = value


def _side(text: KernelText, value: Expr, k: str, found: Contraction, known: dict[Expr, str]) -> str:
    """A tile of one operand, zero beyond the end of the sum."""
    size = text.size(found.reduction.columns, least=2)
    inside = f"{k} < {size}"
    text.writer.indices[COLUMN] = Index(k, inside, 1 if k.endswith("[None, :]") else 0)
    text.writer.known = dict(known)
    if isinstance(value, Load):
        text.lines.values([value], {value: "0.0"})
        return text.writer.text(value)
    text.lines.values([value])
    called = text.names.fresh("side")
    text.lines.add(f"{called} = tl.where({inside}, {text.writer.text(value)}, 0.0)")
    return called
