"""One thread a row becomes a warp or a block a row: neighbouring threads read neighbouring columns.

Before: `for (int j = 0; j < cols; ++j) s += x[row * cols + j];`, where a warp's 32 addresses lie a
row apart. After: `for (int j = threadIdx.x; j < cols; j += blockDim.x) ...; s = block_sum(s);`.
"""

from __future__ import annotations

from .....runners.model import Candidate
from ...shared.base import Move, NotApplicable, Proposals, State
from ...shared.edits import Edit, edited, indent_of
from .parts.facts import Facts, recognised
from .parts.row_loops import RowLoop
from .parts.rows import Rows, read_rows
from .parts.syntax import Number
from .parts.teams import BLOCK_TEAM, WARP_TEAM, Team
from .parts.writing import bounded, launched

SHORT = 1024
"""columns up to which a warp a row is the likelier choice: 32 elements a lane"""
BLOCKS = (256, 512, 128)
WARPS = (128, 256)


def _write(state: State) -> Proposals:
    read = recognised(state, read_rows, "no kernel of one thread a row")
    if isinstance(read, NotApplicable):
        return read
    facts, rows = read
    short = max(facts.workload_values(rows.columns)) <= SHORT
    found = list[Candidate]()
    for team, blocks, likely in ((WARP_TEAM, WARPS, short), (BLOCK_TEAM, BLOCKS, not short)):
        edits = [*team_edits(facts, rows, team), helpers(facts, rows, team)]
        for at, block in enumerate(blocks):
            source = edited(facts.source, [*edits, *bounded(facts, block)])
            prior = (0.35 if likely else 0.2) * 0.8**at
            found.append(_candidate(facts, rows, team, source, block, prior))
    return tuple(found)


def _candidate(
    facts: Facts, rows: Rows, team: Team, source: str, block: int, prior: float
) -> Candidate:
    who = "a block" if team.whole_block else "a warp"
    return Candidate(
        method=MOVE.method,
        detail=f"{who} a row in place of a thread, blocks of {block}",
        source=source,
        plan=launched(facts, [team.grid.format(rows=rows.rows.text())], [block]),
        prior=prior,
    )


def helpers(facts: Facts, rows: Rows, team: Team, more: str = "") -> Edit:
    """The device functions of the reductions, before the kernel."""
    text = team.helpers(r for found in rows.loops for r in found.reductions)
    at = facts.kernel.whole[0]
    pieces = [p for p in (text, more) if p]
    return Edit(at, at, "".join(p + "\n\n" for p in pieces))


def team_edits(facts: Facts, rows: Rows, team: Team) -> list[Edit]:
    """The row's number, each loop's columns, reductions after loops, stores of one thread."""
    edits = [Edit(*rows.number, team.row)]
    for number, found in enumerate(rows.loops):
        edits += _loop_edits(facts, found, team, joined(rows, number, team))
    for store in rows.stores:
        start = store.span[0]
        edits.append(Edit(start, start, f"if ({team.lane} == 0) "))
    return edits


def joined(rows: Rows, number: int, team: Team) -> tuple[str, ...]:
    """The statements that join what the threads of a team have reduced in a loop."""
    before = [r for found in rows.loops[:number] for r in found.reductions]
    return team.reduced(rows.loops[number].reductions, before)


def _loop_edits(
    facts: Facts, found: RowLoop, team: Team, statements: tuple[str, ...]
) -> list[Edit]:
    """`for (int j = lane; j < cols; j += threads)`, and what joins the threads' results."""
    loop = found.loop
    source = facts.source
    first = source[loop.first.span[0] : loop.first.span[1]].decode()
    bound = source[loop.bound.span[0] : loop.bound.span[1]].decode()
    zero = isinstance(loop.first, Number) and first.rstrip("uUlL") == "0"
    start = team.lane if zero else f"{first} + {team.lane}"
    head = f"for ({loop.kind} {loop.variable} = {start}; {loop.variable} < {bound}; "
    edits = [Edit(*loop.head, f"{head}{loop.variable} += {team.threads})")]
    if statements:
        pad = indent_of(source, loop.span[0])
        after = "".join(f"\n{pad}{statement}" for statement in statements)
        edits.append(Edit(loop.span[1], loop.span[1], after))
    return edits


MOVE = Move(
    id="row_per_team",
    method="coalesce_global_accesses",
    languages=("cuda",),
    why="A thread a row reads with a row's length between neighbouring threads: 32 sectors a "
    "request. A warp (short rows) or a block a row reads whole sectors, and reduces by shuffles. "
    "Pays nearly always where rows have more than a few columns.",
    write=_write,
)
