"""Few long columns, folded by several programs each: a share of their rows a program, and a second
launch that joins what the shares come to, in their order, so that the result is the same each time.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from ......analysis.lift.expressions import ONE, ZERO, Expr, Load, Name, Number, call
from ......analysis.lift.statements import Dim, Store
from ......analysis.lift.sums import product, total
from ......runners.model import Candidate
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import workload_values
from ....shared.lifted.row_program import COLUMN, Reduction, RowProgram
from ...parts.kernels import Launch
from .folds import NEUTRAL, SHARE, FoldText, Shape
from .grids import Tile, Words, size_text
from .kernel_text import KernelText
from .plain import WRITTEN, Plain
from .relaunching import grid_text, handed_over, old_programs

SHARES = "~share"
"""the name of a share of the rows while a program is looked at"""
ACROSS, DOWN = 32, 64
"""columns and rows of a block"""
ENOUGH = 264
"""programs that fill a large device with two each"""
LONG = 2 * SHARE
"""rows that are worth a second launch"""
TORCH = {"f32": "torch.float32", "f64": "torch.float64", "int": "torch.int32"}


def shares_of(program: RowProgram) -> Expr:
    """How many shares of SHARE rows there are."""
    return call("div", total((program.columns, Number(SHARE - 1))), Number(SHARE), dtype="int")


def shared_columns(plain: Plain, program: RowProgram, beside: Dim) -> Candidate:
    """Both launches; `beside`: the dimension whose places lie side by side. Raises Unwritable where
    the source does not launch the kernel in a statement, or one program a column does as well."""
    launch, statement = _launched(plain)
    reductions = _joinable(program)
    alone = _programs_alone(plain, program)
    kernel = plain.kernel
    parts = [kernel.fresh(f"parts{n or ''}") for n, _ in enumerate(reductions)]
    joined = kernel.fresh(f"{kernel.name}_joined")
    first, tiles = _first(plain, program, beside, parts)
    second, places = _second(plain, program, beside, parts)
    told = f"{SHARE} rows of {ACROSS} neighbouring places a program, a second launch joins shares"
    definition = "\n\n\n".join(
        [
            second.definition(joined, "# what the shares of each place come to, in order", parts),
            first.definition(plain.written_name, f"{WRITTEN}{told}", parts),
        ]
    )
    handed = [f"{each}={each}" for each in parts]
    given = ", ".join([*handed_over(plain, launch), *handed])
    grid = f"lambda {launch.meta or 'meta'}: ({grid_text(plain, launch, places)},)"
    source = kernel.source
    edits = [
        *first.edits(definition, tiles, handed),
        source.before(statement, *_allocated(plain, launch, program, parts)),
        source.after(statement, f"{joined}[{grid}]({given})"),
    ]
    return Candidate(
        method="split_reduction",
        detail=f"written from what it computes: {told}",
        source=source.edited(edits),
        prior=0.6 if alone < ENOUGH // 4 else 0.47,
    )


def _launched(plain: Plain) -> tuple[Launch, ast.Expr]:
    """The launch, and the statement that it is."""
    if plain.launch is None:
        raise Unwritable("the spec launches it, once")
    for each in ast.walk(plain.launch.function):
        if isinstance(each, ast.Expr) and each.value is plain.launch.call:
            return plain.launch, each
    raise Unwritable("its launch is no statement")


def _joinable(program: RowProgram) -> Sequence[Reduction]:
    """The folds of its one pass."""
    if len(program.passes) != 1 or program.elements:
        raise Unwritable("a column is needed again behind its fold")
    (found,) = program.passes
    if any(each.kind not in NEUTRAL or each.fold.dtype not in TORCH for each in found):
        raise Unwritable("its folds are no sums or extremes of whole precision")
    if any(each.kind.startswith("arg") for each in found):
        raise Unwritable("the place of an extreme")
    return found


def _programs_alone(plain: Plain, program: RowProgram) -> int:
    """How many programs there are where each has its columns alone. Raises Unwritable where they
    are enough, or rows few."""
    found = workload_values(_count(program), plain)
    rows = workload_values(program.columns, plain)
    if not found or not rows or min(found) // ACROSS >= ENOUGH or min(rows) < LONG:
        raise Unwritable("there are places enough for a device, or little to fold")
    return min(found) // ACROSS


def _count(program: RowProgram) -> Expr:
    count: Expr = ONE
    for dim in program.outer:
        count = product(count, dim.extent)
    return count


def _at(program: RowProgram, share: Expr) -> Expr:
    """Where the part of a share lies, of a place."""
    at = share
    for dim in program.outer:
        at = total((product(at, dim.extent), Name(dim.name)))
    return at


def _first(
    plain: Plain, program: RowProgram, beside: Dim, parts: Sequence[str]
) -> tuple[KernelText, tuple[Tile, ...]]:
    """The kernel that folds shares."""
    text = KernelText(plain, rank=2)
    (reductions,) = program.passes
    kept = tuple(
        Store(name, _at(program, Name(SHARES)), each.fold)
        for name, each in zip(parts, reductions, strict=True)
    )
    begun = tuple(
        replace(each, first=Number(NEUTRAL[each.kind], each.fold.dtype)) for each in reductions
    )
    share = Tile(Dim(SHARES, shares_of(program)), text.names.fresh("share"))
    shape = _shape(text, program, beside, share)
    FoldText(text, replace(program, passes=(begun,), ends=kept), shape).write()
    return text, shape.tiles


def _second(
    plain: Plain, program: RowProgram, beside: Dim, parts: Sequence[str]
) -> tuple[KernelText, tuple[Tile, ...]]:
    """The kernel that joins them: the parts of a place are a column too."""
    text = KernelText(plain, rank=2)
    (reductions,) = program.passes
    shares = shares_of(program)
    read = tuple(
        replace(
            each,
            term=Load(name, _at(program, Name(COLUMN)), each.fold.dtype),
            columns=shares,
            start=ZERO,
        )
        for name, each in zip(parts, reductions, strict=True)
    )
    shape = _shape(text, program, beside, None)
    FoldText(text, replace(program, columns=shares, passes=(read,)), shape).write()
    return text, shape.tiles


def _shape(text: KernelText, program: RowProgram, beside: Dim, share: Tile | None) -> Shape:
    across = text.constant("BLOCK_COLUMNS", ACROSS)
    down = text.constant("BLOCK_ROWS", DOWN)
    tiles = [Tile(d, text.names.fresh("outer")) for d in program.outer if d is not beside]
    tiles += [] if share is None else [share]
    tiles.append(Tile(beside, text.names.fresh("place"), across, 1))
    return Shape(tuple(tiles), 0, down, whole=False, share=share)


def _allocated(
    plain: Plain, launch: Launch, program: RowProgram, parts: Sequence[str]
) -> list[str]:
    """Lines before the launch that make room for the parts."""
    bound = launch.bound(plain.kernel)
    arrays = [bound[name] for name in plain.arrays if isinstance(bound.get(name), ast.Name)]
    if not arrays or not _imports_torch(plain):
        raise Unwritable("nothing tells the launch where its arrays lie")

    def named(name: str) -> str:
        if name in plain.programs:
            text = old_programs(launch, plain.programs[name])
        elif name in bound:
            text = launch.source.text(bound[name])
        else:
            raise Unwritable("a size that the launch does not hand over")
        return text if text.isidentifier() else f"({text})"

    sizes = [shares_of(program), *(d.extent for d in program.outer)]
    shape = ", ".join(size_text(each, plain, Words(named, "triton.cdiv")) for each in sizes)
    device = f"{launch.source.text(arrays[0])}.device"
    (reductions,) = program.passes
    return [
        f"{name} = torch.empty(({shape}), device={device}, dtype={TORCH[each.fold.dtype]})"
        for name, each in zip(parts, reductions, strict=True)
    ]


def _imports_torch(plain: Plain) -> bool:
    imports = [n for n in plain.kernel.source.tree.body if isinstance(n, ast.Import)]
    return any(a.name == "torch" and a.asname in (None, "torch") for n in imports for a in n.names)
