"""Folds across rows, written anew: a block has 32 neighbouring places and many threads for each.

Neighbouring threads read neighbouring elements; the threads of one place share what it folds and
meet in shared memory, in the same order each time. Pays where there are fewer places than threads
on the device, as a column a thread has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ......analysis.lift.expressions import ONE, ZERO, Expr, Fold, Load, Name, Number, walk
from ......analysis.lift.rewriting import substitute
from ......analysis.lift.statements import expressions_in
from ......analysis.lift.sums import coefficient
from ......runners.model import Candidate
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int
from ....shared.lifted.flat import Flat, flattened
from ....shared.lifted.names import Names
from ....shared.lifted.row_program import COLUMN, Reduction, reduction_of
from .body_text import BodyWriter
from .c_text import SHORT, VALUES, Writer
from .names import names_for
from .plain import Plain
from .writing import parameters, plan_text, plan_with, source_with, written

METHOD = "split_reduction"
"""of the catalogue, that the schedule is a candidate of"""
SHARES, WIDTH = "COLUMN_THREADS", 32
"""threads that share a place; neighbouring places of a block"""
KNOBS = {SHARES: (4, 8, 16, 32)}
SEVERAL = 0.1
"""prior where places have several dimensions: of a product of matrices tiles are worth more"""
BEHIND = "        "
"""before what one thread of a place does"""
SIGNS = {"sum": "+", "product": "*", "max": ">", "min": "<"}


def reductions_of(flat: Flat) -> list[Reduction]:
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


def in_one_block(plain: Plain) -> Candidate:
    """Places that a block has to itself. Raises Unwritable."""
    names = names_for(plain, (SHARES,))
    flat = flattened(plain, names)
    reductions = reductions_of(flat)
    told = f"{WIDTH} neighbouring places a block, each folded by {SHARES} threads"
    writer = writer_for(plain, flat, reductions)
    body = folded(flat, reductions, names, writer, lambda body: body.lines(flat.body, BEHIND))
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


def writer_for(
    plain: Plain, flat: Flat, reductions: Sequence[Reduction], more: Mapping[str, str] | None = None
) -> Writer:
    """What writes expressions of a kernel; `more`: types of arrays that a schedule brings."""
    wide = not fits_int(plain, flat.count, *(each.columns for each in reductions))
    return Writer({}, {**plain.dtypes, **(more or {})}, wide=wide)


def folded(
    flat: Flat,
    reductions: Sequence[Reduction],
    names: Names,
    writer: Writer,
    ends: Callable[[BodyWriter], Iterable[str]],
    blocks: str = "",
) -> str:
    """The body of a kernel whose blocks fold WIDTH places. `ends`: what one thread of a place does
    when its folds are known; `blocks`: the macro that is how many blocks, along y, share a place.
    Raises Unwritable."""
    index = "long long" if writer.wide else "int"
    inside, k, share = (names.fresh(n) for n in ("inside", "k", "share"))
    begin = f"(int)blockIdx.y * {SHARES} + (int)threadIdx.y" if blocks else "threadIdx.y"
    lines = [
        f"    const {index} {flat.index} = ({index})blockIdx.x * {WIDTH} + (int)threadIdx.x;",
        f"    const bool {inside} = {flat.index} < {writer.text(flat.count)};",
        f"    const int {share} = {begin};",
        *(f"    const {index} {c.name} = {writer.text(c.value)};" for c in flat.coordinates),
    ]
    body = BodyWriter(writer, names, index)
    lane = "threadIdx.y" if blocks else share
    step = f"{blocks} * {SHARES}" if blocks else SHARES
    found = [(each, names.fresh("total"), names.fresh("parts")) for each in reductions]
    joined = list[str]()
    for each, name, _ in found:
        lines.append(f"    {VALUES[each.fold.dtype]} {name} = {_begin(each, writer, inside)};")
    lines += [f"    if ({inside}) {{", *_shared_loops(found, k, (share, step), body), "    }"]
    for each, name, parts in found:
        kind, first = VALUES[each.fold.dtype], writer.text(each.first)
        lines += [
            f"    __shared__ {kind} {parts}[{SHARES}][{WIDTH}];",
            f"    {parts}[{lane}][threadIdx.x] = {name};",
        ]
        part = f"{parts}[{k}][threadIdx.x]"
        joined.append(
            f"        for (int {k} = 1; {k} < {SHARES}; ++{k}) {step_text(each, name, part)}"
        )
        if (neutral := _neutral(each)) is not None and first != neutral:
            joined.append(f"        {name} = {first} {SIGNS[each.kind]} {name};")
        writer.known[each.fold] = name
    return "\n".join(
        [
            *lines,
            "    __syncthreads();",
            f"    if ({inside} && {lane} == 0) {{",
            *joined,
            *ends(body),
            "    }",
        ]
    )


def _begin(reduction: Reduction, writer: Writer, inside: str) -> str:
    """What a thread's share begins with. A thread beyond the places reads nothing."""
    if (neutral := _neutral(reduction)) is not None:
        return neutral
    first = writer.text(reduction.first)
    reads = any(isinstance(each, Load) for each in walk(reduction.first))
    return f"{inside} ? {first} : ({VALUES[reduction.fold.dtype]})0" if reads else first


def _shared_loops(
    found: Sequence[tuple[Reduction, str, str]], k: str, share: tuple[str, str], body: BodyWriter
) -> Iterator[str]:
    """A loop for the reductions over the same elements, each with its variable. Every so many
    iterations are a thread's: the first one, and how far the next is."""
    alike = dict[tuple[Expr, Expr], list[tuple[Reduction, str]]]()
    for each, name, _ in found:
        alike.setdefault((each.start, each.columns), []).append((each, name))
    for (start, columns), members in alike.items():
        yield from _shared_loop(members, (start, columns), k, share, body)


def _shared_loop(
    members: Sequence[tuple[Reduction, str]],
    extent: tuple[Expr, Expr],
    k: str,
    share: tuple[str, str],
    body: BodyWriter,
) -> list[str]:
    writer, index = body.writer, body.index
    start, columns = extent
    terms = [substitute(each.term, {COLUMN: Name(k)}) for each, _ in members]
    known = dict(writer.known)
    values = list(body.values(terms, "            "))
    steps = [
        f"            {step_text(each, name, writer.text(term))}"
        for (each, name), term in zip(members, terms, strict=True)
    ]
    writer.known = known
    begin = share[0] if start == ZERO else f"{writer.text(start)} + {share[0]}"
    return [
        "#pragma unroll 4",
        f"        for ({index} {k} = {begin}; {k} < {writer.text(columns)}; {k} += {share[1]}) {{",
        *values,
        *steps,
        "        }",
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
