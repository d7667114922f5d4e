"""Rows that are folded, written anew: a warp or a block a row, vectors along it, one reading.

What a row's folds need of each other orders them in passes; folds that need the same go together.
Where a row fits in the registers of its threads it is loaded once, all vectors first, and every
pass goes over registers; longer rows are read again for each pass, from caches where they fit.
Outputs along the row are written by the last pass as vectors, outputs of the row by one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import ONE, Expr
from ......analysis.lift.sums import product
from ......runners.dtypes import DTYPES
from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.domains import fits_int, largest, workload_values
from ....shared.lifted.row_program import RowProgram, row_program
from .plain import Plain, written_from
from .row_lanes import LANES_BYTES, TEAM, RowLanes, dtype_of
from .row_text import WARPS, RowText
from .running import with_running_maximum
from .writing import parameters, plan_text, plan_with, source_with

TEAMS = (32, 64, 128, 256, 512, 1024)
HELD_BYTES = 256
"""of rows that a thread holds in registers: 64 of them"""
SCATTERED = 0.25
"""of the prior, where a row's threads read elements that are no neighbours"""
FEW_ROWS = 132 * 4
ITEM_BYTES = 64
"""that a thread had best have of a row: four vectors under way"""


@dataclass(frozen=True)
class Way:
    """How rows are written."""

    method: str
    """of the catalogue, that its candidates are of"""
    changed: Callable[[RowProgram], RowProgram] = lambda program: program
    """Raises Unwritable where the way does not fit a program."""
    told: str = ""
    """what is said of it behind what all have in common"""
    weight: float = 1.0
    """of the priors"""


COALESCED = Way("coalesce_global_accesses")
ONE_PASS = Way(
    "softmax_math_fusion",
    with_running_maximum,
    ", the maximum and the sum of powers under it in one pass",
    weight=0.9,
)


def rows(state: State, way: Way = COALESCED) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: tuple(_candidates(plain, way)), "row")


def _candidates(plain: Plain, way: Way) -> Iterator[Candidate]:
    program = way.changed(row_program(plain))
    longest = max(workload_values(program.columns, plain), default=0)
    if not longest:
        raise Unwritable("how long the rows of the workloads are is not known")
    rows = ONE
    for dim in program.outer:
        rows = product(rows, dim.extent)
    few = min(workload_values(rows, plain), default=1) < FEW_ROWS
    kernel = RowLanes(plain, program)
    bytes_a_column = sum(DTYPES[dtype_of(plain, a)].itemsize for a in kernel.held_arrays)
    if bytes_a_column:
        capacity = 1 << (longest - 1).bit_length()
        teams = [t for t in TEAMS if capacity * bytes_a_column <= t * HELD_BYTES]
        if teams:
            wanted = _team(longest * bytes_a_column, few, teams)
            yield _candidate(plain, program, rows, wanted, teams, capacity, way)
    row_bytes = longest * max(1, kernel.bytes_a_column)
    yield _candidate(plain, program, rows, _team(row_bytes, few, TEAMS), TEAMS, 0, way)


def _team(nbytes: int, few: bool, teams: Sequence[int]) -> int:
    """The threads that have some vectors of a row each; where rows are few, more."""
    wanted = nbytes // (LANES_BYTES if few else ITEM_BYTES)
    return min(teams, key=lambda t: abs(t.bit_length() - max(32, wanted).bit_length()))


def _candidate(
    plain: Plain, program: RowProgram, rows: Expr, team: int, teams: Sequence[int], capacity: int,
    way: Way,
) -> Candidate:  # fmt: skip
    made = RowLanes(plain, program)
    longest = largest(program.columns, plain)
    index = "int" if fits_int(plain, rows, program.columns) else "long long"
    text = RowText(made, index)
    functions = list[str]()
    held = streamed = ""
    if capacity:
        held = made.names.fresh(f"{plain.function.name}_held")
        functions.append(text.function(held, capacity))
    if not capacity or longest > capacity:
        streamed = made.names.fresh(f"{plain.function.name}_row")
        functions.append(text.function(streamed, 0))
    who = "held in registers" if capacity else "read again for each pass"
    told = (
        f"threads of a block share a row, which is {who}, {made.lanes} elements at a time"
        + way.told
    )
    prelude = "\n\n".join([*text.helpers, *functions])
    body = text.kernel(rows, held, streamed, capacity)
    count = plan_text(rows, plain)
    a_block = f"({WARPS} if {TEAM} <= 32 else 1)"
    return Candidate(
        method=way.method,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain, told, prelude, parameters(plain, made.written), body,
            f"{TEAM} > 32 ? {TEAM} : {WARPS * 32}",
        ),
        plan=plan_with(
            plain, [f"cdiv({count}, {a_block})"], [TEAM, a_block], defines={TEAM: team}
        ),
        knobs={TEAM: tuple(teams)} if len(teams) > 1 else {},
        prior=way.weight * (0.45 if capacity else 0.35) * (SCATTERED if made.scattered else 1),
    )  # fmt: skip
