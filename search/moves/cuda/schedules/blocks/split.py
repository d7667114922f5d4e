"""Few long rows, or one whole array, folded by all blocks: each block keeps what its share comes
to, and a second launch joins the shares of a row in their order, so that the result is the same
each time. What blocks add up by atomic updates is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ......analysis.lift.expressions import ONE, Expr, Number
from ......analysis.lift.sums import product
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int, workload_values
from ....shared.lifted.names import Names
from ....shared.lifted.row_program import Reduction, RowProgram, row_program
from ..parts.body_text import BodyWriter
from ..parts.c_text import SHORT, VALUES, Writer, number_text
from ..parts.columns import step_text
from ..parts.plain import Plain, written_from
from ..parts.row_lanes import TEAM, RowLanes
from ..parts.row_text import RowText
from ..parts.writing import chosen, condition, handed, parameters, plan_text, plan_with, source_with

METHOD = "split_reduction"
"""of the catalogue, that the schedule is a candidate of"""
PARTS = "ROW_BLOCKS"
"""the macro that says how many blocks share a row"""
KNOBS = {PARTS: (32, 64, 132, 264, 528, 1056), TEAM: (128, 256, 512)}
MANY_ROWS = 132
"""that fill a device with a block each"""
SHORT_ROW = 1 << 16
"""bytes, which one block reads in the time of a launch"""
_NEUTRAL = {"sum": 0, "product": 1}
BUFFERS = {"f32": "float32", "f64": "float64", "int": "int64"}
"""types of what is kept of a share, as a contract calls them"""


@dataclass(frozen=True)
class _Share:
    """A reduction, and the buffers that hold what each block's share comes to."""

    reduction: Reduction
    buffers: tuple[tuple[str, str], ...]
    """names, and types of the contract"""


def split(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: (_candidate(plain),), "fold by all blocks")


def _candidate(plain: Plain) -> Candidate:
    program = row_program(plain)
    rows = ONE
    for dim in program.outer:
        rows = product(rows, dim.extent)
    _worth_it(plain, program, rows)
    made = RowLanes(plain, _begun(program))
    row_bytes = max(workload_values(program.columns, plain)) * made.bytes_a_column
    if row_bytes < SHORT_ROW:
        raise Unwritable("its rows are short enough for one block")
    text = RowText(made, "int" if fits_int(plain, rows, program.columns) else "long long", PARTS)
    name = plain.function.name
    shares = [_share(each, made) for each in program.passes[0]]
    first, second = (made.names.fresh(f"{name}_{word}") for word in ("share", "joined"))
    buffers = [each for share in shares for each in share.buffers]
    pointers = [f"{element_of(dtype)}* __restrict__ {buffer}" for buffer, dtype in buffers]
    share = text.function(first, 0, lambda _: list(_kept(shares, text)), pointers)
    joined = _joined(plain, made, text, program, shares, second)
    told = f"{PARTS} blocks share a row, and a second launch joins their parts in order"
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain,
            told,
            "\n\n".join([*text.helpers, share, joined]),
            [*parameters(plain, made.written), *pointers],
            _calls(plain, made, text, first, buffers),
            TEAM,
        ),
        plan=_plan(plain, rows, second, buffers),
        knobs=KNOBS,
        prior=0.5,
    )


def _worth_it(plain: Plain, program: RowProgram, rows: Expr) -> None:
    """Raises Unwritable where a block a row does as well, or shares cannot be joined."""
    if len(program.passes) > 1 or any(program.elements):
        raise Unwritable("a row is needed again behind its fold")
    reductions = [each for step in program.passes for each in step]
    if any(each.kind == "running" or each.fold.dtype in SHORT for each in reductions):
        raise Unwritable("its folds are no sums, products or extremes of whole precision")
    if min(workload_values(rows, plain), default=MANY_ROWS) >= MANY_ROWS:
        raise Unwritable("there are rows enough for all blocks")
    if not workload_values(program.columns, plain):
        raise Unwritable("how long the rows of the workloads are is not known")


def _begun(program: RowProgram) -> RowProgram:
    return replace(program, passes=(tuple(map(begun_with_nothing, program.passes[0])),))


def begun_with_nothing(reduction: Reduction) -> Reduction:
    """A sum or product that begins with 0 or 1: what it begins with counts once, behind all
    shares. Extremes begin as they did."""
    neutral = _NEUTRAL.get(reduction.kind)
    if neutral is None:
        return reduction
    return replace(reduction, first=_number(neutral, reduction))


def _number(value: int, reduction: Reduction) -> Number:
    dtype = reduction.fold.dtype
    return Number(value if dtype == "int" else float(value), dtype)


def _share(reduction: Reduction, made: RowLanes) -> _Share:
    value = made.names.fresh(f"parts_{made.plain.function.name}")
    if reduction.kind.startswith("arg"):
        places = made.names.fresh(f"places_{made.plain.function.name}")
        best = BUFFERS[reduction.first.dtype]
        return _Share(reduction, ((value, best), (places, "int64")))
    return _Share(reduction, ((value, BUFFERS[reduction.fold.dtype]),))


def element_of(dtype: str) -> str:
    """The type of a share's part in C++."""
    return {"float32": "float", "float64": "double"}.get(dtype, "long long")


def _kept(shares: list[_Share], text: RowText) -> Iterator[str]:
    """One thread writes what the block's share comes to."""
    at = f"(int)blockIdx.y * {PARTS} + (int)blockIdx.x"
    for each in shares:
        names = text.folded[each.reduction.fold]
        for (buffer, _), name in zip(each.buffers, reversed(names), strict=True):
            yield f"        {buffer}[{at}] = {name};"


def _calls(
    plain: Plain, made: RowLanes, text: RowText, function: str, buffers: list[tuple[str, str]]
) -> str:
    """The first kernel's body."""
    row = made.names.fresh("row")
    writer = Writer({}, {})
    given = ", ".join([handed(plain), *(name for name, _ in buffers), *text.outer])
    lines = [f"    const int {row} = (int)blockIdx.y;"] if text.outer else []
    lines += text.places(row, writer)
    tests = condition(made.split.needs, made.lanes, writer)
    return "\n".join(
        [*lines, *chosen(tests, lambda lanes: [f"{function}<{lanes}>({given});"], made.lanes)]
    )


def _joined(
    plain: Plain, made: RowLanes, text: RowText, program: RowProgram, shares: list[_Share],
    name: str,
) -> str:  # fmt: skip
    """The second kernel: a warp a row joins its parts, and does what comes behind the folds."""
    names, writer = made.names, text.writer()
    row, part = names.fresh("row"), names.fresh("part")
    lines = [f"    const int {row} = (int)blockIdx.x;", *text.places(row, writer)]
    body = BodyWriter(writer, names, "int")
    for original, share in zip(program.passes[0], shares, strict=True):
        lines += _joined_share(original, share, text, writer, body, row, part, names)
    ends = list(body.lines(program.ends, "        "))
    pointers = [
        f"const {element_of(dtype)}* __restrict__ {buffer}"
        for share in shares
        for buffer, dtype in share.buffers
    ]
    given = ", ".join([*parameters(plain, made.written), *pointers])
    return "\n".join(
        [
            "// a warp a row: what its blocks found, in their order",
            f'extern "C" __global__ void __launch_bounds__(32) {name}({given}) {{',
            *lines,
            "    if (threadIdx.x == 0) {",
            *ends,
            "    }",
            "}",
        ]
    )


def _joined_share(
    original: Reduction, share: _Share, text: RowText, writer: Writer, body: BodyWriter, row: str,
    part: str, names: Names,
) -> list[str]:  # fmt: skip
    """Lines after which one reduction of the whole row has its name."""
    kind, fold = original.kind, original.fold
    lines = list(body.values([original.first, original.first_place], "    "))
    first = writer.text(original.first)
    at = f"{row} * {PARTS} + {part}"
    loop = f"    for (int {part} = threadIdx.x; {part} < {PARTS}; {part} += 32)"
    if kind.startswith("arg"):
        best, place = names.fresh("best"), names.fresh("best_at")
        now, there = (f"{buffer}[{at}]" for buffer, _ in share.buffers)
        sign, order = (">" if kind == "argmax" else "<"), (">" if original.later else "<")
        lines += [
            f"    {VALUES[original.first.dtype]} {best} = {first};",
            f"    long long {place} = {writer.text(original.first_place)};",
            f"{loop} {{",
            f"        if ({now} {sign} {best} || ({now} == {best} && {there} {order} {place})) {{",
            f"            {best} = {now};",
            f"            {place} = {there};",
            "        }",
            "    }",
            "    " + text.teams.joined(kind, "32", best, place, later=original.later),
        ]
        writer.known[fold] = place
        return lines
    (buffer, _), value = share.buffers[0], names.fresh("whole")
    neutral = _NEUTRAL.get(kind)
    begin = first if neutral is None else number_text(_number(neutral, original))
    lines += [
        f"    {VALUES[fold.dtype]} {value} = {begin};",
        f"{loop} {{",
        f"        {step_text(original, value, f'{buffer}[{at}]')}",
        "    }",
        "    " + text.teams.joined(kind, "32", value),
    ]
    if neutral is not None and original.first != _number(neutral, original):
        lines.append(f"    {value} = {first} {'+' if kind == 'sum' else '*'} {value};")
    writer.known[fold] = value
    return lines


def _plan(plain: Plain, rows: Expr, second: str, buffers: list[tuple[str, str]]) -> dict[str, Any]:
    count = plan_text(rows, plain)
    names = [name for name, _ in buffers]
    made = plan_with(
        plain,
        [PARTS, count],
        [TEAM],
        defines={PARTS: 264, TEAM: 256},
        extra=names,
        buffers={
            name: {"dtype": dtype, "shape": [f"{PARTS} * {count}"]} for name, dtype in buffers
        },
    )
    steps = made["steps"]
    at = next(n for n, s in enumerate(steps) if s.get("launch") == plain.launch.launch)
    args = steps[at]["args"]
    steps.insert(at + 1, {"launch": second, "grid": [count], "block": [32], "args": args})
    return made
