"""Folds across rows, written anew: a block has 32 neighbouring places and many threads for each.

Neighbouring threads read neighbouring elements; the threads of one place share what it folds and
meet in shared memory, in the same order each time. Pays where there are fewer places than threads
on the device, as a column a thread has.
"""

from __future__ import annotations

from ......analysis.lift.expressions import ONE, ZERO, Fold, Load, Name, Number, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import expressions_in
from ......analysis.lift.sums import coefficient
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int
from ....shared.lifted.flat import Flat, flattened
from ....shared.lifted.names import Names
from ....shared.lifted.row_program import COLUMN, Reduction, reduction_of
from .body_text import BodyWriter
from .c_text import SHORT, VALUES, Writer
from .names import names_for
from .plain import Plain, written_from
from .writing import parameters, plan_text, plan_with, source_with, written

METHOD = "split_reduction"
"""of the catalogue, that the schedule is a candidate of"""
SHARES, WIDTH = "COLUMN_THREADS", 32
"""threads that share a place; neighbouring places of a block"""
KNOBS = {SHARES: (4, 8, 16, 32)}
SEVERAL = 0.1
"""prior where places have several dimensions: of a product of matrices tiles are worth more"""
SIGNS = {"sum": "+", "product": "*", "max": ">", "min": "<"}


def columns(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: (_candidate(plain),), "fold across rows")


def _reductions(flat: Flat) -> list[Reduction]:
    """The folds of a place. Raises Unwritable for other ones than plain reductions that read
    neighbours at neighbouring places."""
    exprs = expressions_in(flat.body)
    folds = list(dict.fromkeys(e for expr in exprs for e in walk(expr) if isinstance(e, Fold)))
    found = [reduction_of(each) for each in folds]
    kept = [each for each in found if each is not None and each.kind in SIGNS]
    if not folds or len(kept) < len(folds):
        raise Unwritable("it folds nothing, or in an order that counts")
    moving = [flat.index, *(c.name for c in flat.coordinates if c.moving)]
    for each in kept:
        if any(isinstance(inner, Fold) for inner in walk(each.term)):
            raise Unwritable("a fold within a fold")
        if each.fold.dtype in SHORT:
            raise Unwritable("half precision is folded")
        loads = [load for load in walk(each.term) if isinstance(load, Load)]
        strides = [coefficient(load.index, name) for load in loads for name in moving]
        if not any(stride is not None and stride[0] == ONE for stride in strides):
            raise Unwritable("neighbouring places read no neighbouring elements")
    return kept


def _candidate(plain: Plain) -> Candidate:
    names = names_for(plain, (SHARES,))
    flat = flattened(plain, names)
    reductions = _reductions(flat)
    wide = not fits_int(plain, flat.count, *(each.columns for each in reductions))
    told = f"{WIDTH} neighbouring places a block, each folded by {SHARES} threads"
    body = _kernel(plain, flat, reductions, names, "long long" if wide else "int")
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain, told, "", parameters(plain, written(plain)), body, f"{WIDTH} * {SHARES}"
        ),
        plan=plan_with(
            plain,
            [f"cdiv({plan_text(flat.count, plain)}, {WIDTH})"],
            [WIDTH, SHARES],
            defines={SHARES: 16},
        ),
        knobs=KNOBS,
        prior=SEVERAL if flat.coordinates else 0.35,
    )


def _kernel(plain: Plain, flat: Flat, reductions: list[Reduction], names: Names, index: str) -> str:
    dtypes = plain.dtypes
    writer = Writer({}, dtypes, wide=index != "int")
    inside, k, share = (names.fresh(n) for n in ("inside", "k", "share"))
    lines = [
        f"    const {index} {flat.index} = ({index})blockIdx.x * {WIDTH} + (int)threadIdx.x;",
        f"    const bool {inside} = {flat.index} < {writer.text(flat.count)};",
        f"    const int {share} = threadIdx.y;",
        *(f"    const {index} {c.name} = {writer.text(c.value)};" for c in flat.coordinates),
    ]
    joined = list[str]()
    for each in reductions:
        name, parts = names.fresh("total"), names.fresh("parts")
        kind, first = VALUES[each.fold.dtype], writer.text(each.first)
        lines.append(f"    {kind} {name} = {_neutral(each) or first};")
        lines += _shared_loop(each, name, inside, k, share, writer, names, index)
        lines += [
            f"    __shared__ {kind} {parts}[{SHARES}][{WIDTH}];",
            f"    {parts}[{share}][threadIdx.x] = {name};",
        ]
        part = f"{parts}[{k}][threadIdx.x]"
        joined.append(
            f"        for (int {k} = 1; {k} < {SHARES}; ++{k}) {step_text(each, name, part)}"
        )
        if (neutral := _neutral(each)) is not None and first != neutral:
            joined.append(f"        {name} = {first} {SIGNS[each.kind]} {name};")
        writer.known[each.fold] = name
    ends = BodyWriter(writer, names, index).lines(flat.body, "        ")
    return "\n".join(
        [
            *lines,
            "    __syncthreads();",
            f"    if ({inside} && {share} == 0) {{",
            *joined,
            *ends,
            "    }",
        ]
    )


def _shared_loop(
    reduction: Reduction,
    name: str,
    inside: str,
    k: str,
    share: str,
    writer: Writer,
    names: Names,
    index: str,
) -> list[str]:
    """Every so many iterations are a thread's."""
    term = substitute(reduction.term, {COLUMN: Name(k)})
    known = dict(writer.known)
    values = list(BodyWriter(writer, names, index).values([term], "            "))
    step = step_text(reduction, name, writer.text(term))
    writer.known = known
    start = writer.text(reduction.start)
    begin = share if reduction.start == ZERO else f"{start} + {share}"
    return [
        f"    if ({inside}) {{",
        "#pragma unroll 4",
        f"        for ({index} {k} = {begin}; {k} < {writer.text(reduction.columns)};"
        f" {k} += {SHARES}) {{",
        *values,
        f"            {step}",
        "        }",
        "    }",
    ]


def _neutral(reduction: Reduction) -> str | None:
    """What changes nothing; None for extremes, which may start from the same value twice."""
    value = {"sum": 0, "product": 1}.get(reduction.kind)
    if value is None:
        return None
    dtype = reduction.fold.dtype
    return Writer({}, {}).text(Number(value if dtype == "int" else float(value), dtype))


def step_text(reduction: Reduction, name: str, value: str) -> str:
    """A statement: the reduction takes a value into a variable."""
    sign = SIGNS[reduction.kind]
    if reduction.kind in ("sum", "product"):
        return f"{name} {sign}= {value};"
    if reduction.fold.dtype in ("f32", "f64"):
        suffix = "f" if reduction.fold.dtype == "f32" else ""
        return f"{name} = f{reduction.kind}{suffix}({name}, {value});"
    return f"if ({value} {sign} {name}) {name} = {value};"
