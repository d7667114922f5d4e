"""Folds across rows: a block has neighbouring places, and where there are few of them and much to
fold, several blocks share these, and a second launch joins what each has found, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ......analysis.lift.expressions import ZERO, Expr, Load, Name
from ......analysis.lift.sums import product, total
from ......runners.model import Candidate
from ......runners.specs.expressions import next_pow2
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import workload_values
from ....shared.lifted.flat import Flat, flattened
from ....shared.lifted.names import Names
from ....shared.lifted.row_program import COLUMN, Reduction
from ..parts.body_text import BodyWriter
from ..parts.columns import (
    BEHIND,
    METHOD,
    SHARES,
    WIDTH,
    folded,
    in_one_block,
    reductions_of,
    writer_for,
)
from ..parts.names import names_for
from ..parts.plain import Plain, written_from
from ..parts.writing import parameters, plan_text, plan_with, source_with, written
from .split import BUFFERS, begun_with_nothing, element_of

PARTS = "COLUMN_BLOCKS"
"""the macro that says how many blocks share their places"""
KNOBS = {PARTS: (4, 8, 16, 32, 64, 128, 256), SHARES: (8, 16, 32)}
ENOUGH = 528
"""blocks of 16 warps that keep a large device busy: four for each of 132 multiprocessors"""
LONG = 1024
"""elements of a place that are worth a second launch"""
LEAST, THREADS = 4, 16
"""blocks that share places, threads of each, to begin with"""
A_THREAD = 4
"""elements of a place that a thread has at least"""


def columns(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: tuple(_candidates(plain)), "fold across rows")


def _candidates(plain: Plain) -> Iterator[Candidate]:
    one = in_one_block(plain)
    try:
        shared = _by_several_blocks(plain)
    except Unwritable:
        yield one  # right at every size, only slower where places are few
        return
    yield shared
    yield one


@dataclass(frozen=True)
class _Kernel:
    """What both launches know of the places: names are the same ones in each."""

    flat: Flat
    reductions: Sequence[Reduction]
    names: Names
    buffers: tuple[str, ...]
    """one for each reduction"""
    joined: str
    """the second kernel's name"""


def _kernel(plain: Plain) -> _Kernel:
    names = names_for(plain, (SHARES, PARTS))
    flat = flattened(plain, names)
    found = reductions_of(flat)
    name = plain.function.name
    buffers = tuple(names.fresh(f"parts_{name}") for _ in found)
    return _Kernel(flat, found, names, buffers, names.fresh(f"{name}_joined"))


def _by_several_blocks(plain: Plain) -> Candidate:
    first, second = _kernel(plain), _kernel(plain)
    shared_by = _blocks_a_place(plain, first)
    kept = [BUFFERS[each.fold.dtype] for each in first.reductions]
    types = dict(zip(first.buffers, kept, strict=True))
    pointers = [f"{element_of(t)}* __restrict__ {name}" for name, t in types.items()]
    told = f"{PARTS} blocks share {WIDTH} neighbouring places, a second launch joins their parts"
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain,
            told,
            _joined_text(plain, second, types),
            [*parameters(plain, written(plain)), *pointers],
            _share_text(plain, first),
            f"{WIDTH} * {SHARES}",
        ),
        plan=_plan(plain, first, types, shared_by),
        knobs=KNOBS,
        prior=0.55 if shared_by > LEAST else 0.3,
    )


def _blocks_a_place(plain: Plain, kernel: _Kernel) -> int:
    """How many blocks share places to begin with. Raises Unwritable where one does as well."""
    places = workload_values(kernel.flat.count, plain)
    lengths = [n for each in kernel.reductions for n in workload_values(each.columns, plain)]
    if not places or not lengths:
        raise Unwritable("how much the workloads fold is not known")
    alone = -(-min(places) // WIDTH)
    if alone >= ENOUGH or min(lengths) < LONG:
        raise Unwritable("there are places enough for all blocks, or little to fold")
    most = max(LEAST, next_pow2(min(lengths) // (THREADS * A_THREAD)) // 2)
    return min(most, KNOBS[PARTS][-1], max(LEAST, next_pow2(ENOUGH // alone)))


def _at(kernel: _Kernel, share: Expr) -> Expr:
    """Where a buffer has what a block found of a place."""
    return total((product(share, kernel.flat.count), Name(kernel.flat.index)))


def _share_text(plain: Plain, kernel: _Kernel) -> str:
    """The first kernel's body: a block keeps what its share comes to."""
    begun = [begun_with_nothing(each) for each in kernel.reductions]
    writer = writer_for(plain, kernel.flat, begun)
    block = kernel.names.fresh("block")

    def kept(_: BodyWriter) -> Iterator[str]:
        index = "long long" if writer.wide else "int"
        yield f"{BEHIND}const {index} {block} = blockIdx.y;"
        for buffer, each in zip(kernel.buffers, begun, strict=True):
            at = writer.text(_at(kernel, Name(block)))
            yield f"{BEHIND}{buffer}[{at}] = {writer.known[each.fold]};"

    return folded(kernel.flat, begun, kernel.names, writer, kept, PARTS)


def _joined_text(plain: Plain, kernel: _Kernel, types: dict[str, str]) -> str:
    """The second kernel: the parts of a place are a column too."""
    parts = [
        replace(each, term=_part(kernel, name, each), columns=Name(PARTS), start=ZERO)
        for name, each in zip(kernel.buffers, kernel.reductions, strict=True)
    ]
    writer = writer_for(plain, kernel.flat, kernel.reductions, types)

    def ends(body: BodyWriter) -> Iterable[str]:
        return body.lines(kernel.flat.body, BEHIND)

    pointers = [f"const {element_of(t)}* __restrict__ {name}" for name, t in types.items()]
    given = ", ".join([*parameters(plain, written(plain)), *pointers])
    bound = f"__launch_bounds__({WIDTH} * {SHARES})"
    return "\n".join(
        [
            "// what the blocks of each place found, in their order",
            f'extern "C" __global__ void {bound} {kernel.joined}({given}) {{',
            folded(kernel.flat, parts, kernel.names, writer, ends),
            "}",
        ]
    )


def _part(kernel: _Kernel, buffer: str, reduction: Reduction) -> Load:
    return Load(buffer, _at(kernel, Name(COLUMN)), reduction.fold.dtype)


def _plan(plain: Plain, kernel: _Kernel, types: dict[str, str], shared_by: int) -> dict[str, Any]:
    count = plan_text(kernel.flat.count, plain)
    across, block = f"cdiv({count}, {WIDTH})", [WIDTH, SHARES]
    made = plan_with(
        plain,
        [across, PARTS],
        block,
        defines={PARTS: shared_by, SHARES: THREADS},
        extra=[*types],
        buffers={n: {"dtype": t, "shape": [f"{PARTS} * {count}"]} for n, t in types.items()},
    )
    steps = made["steps"]
    at = next(n for n, s in enumerate(steps) if s.get("launch") == plain.launch.launch)
    args = steps[at]["args"]
    steps.insert(at + 1, {"launch": kernel.joined, "grid": [across], "block": block, "args": args})
    return made
