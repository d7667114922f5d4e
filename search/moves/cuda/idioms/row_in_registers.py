"""One thread a row becomes a team a row that keeps the row in registers: one pass over memory.

Arrays that run along the columns are loaded into registers before the first loop that reads them,
16 bytes an instruction where rows are aligned, and stored after the last loop that writes them.
Longer rows than the registers hold take the strided loops of `row_per_team.py`, in the same kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .....runners.model import Candidate
from ...shared.base import Move, NotApplicable, Proposals, State
from ...shared.edits import Edit, edited, indent_of
from .parts.facts import Facts, recognised
from .parts.row_arrays import BYTES, Held, held_arrays
from .parts.row_registers import peak_bytes
from .parts.row_terms import Term, kept_terms
from .parts.rows import Rows, read_rows
from .parts.syntax import Name, Span, within
from .parts.teams import Team
from .parts.writing import bounded, launched
from .row_per_team import helpers, joined, team_edits

MOST_REGISTERS = 96
"""that rows may fill a thread, of 255: the rest is for indices, sums and the compiler"""
REGISTER_FILE = 65536
"""of a multiprocessor, of which blocks of many threads may not have 255 each"""
ITEMS = (1, 2, 4, 8)
"""vectors a thread and array"""
WARP = 32
WARP_ITEMS = 16
"""vectors a lane beyond those: rows of 8 KB in 64 registers of each lane"""
THREADS = (WARP, 128, 256, 512, 1024)
MANY_ROWS = 132 * 8
"""from which on a warp a row gives each multiprocessor of an H100 8 warps, 4 KB each or more"""
ROWS_A_BLOCK = 4
"""where a warp does a row"""
VARIANTS = 4

MOVED = """\
// N elements of a row, 16 bytes at a time where rows are whole; `left` of them exist
template <int N, typename T>
__device__ __forceinline__ void move_columns(T* to, const T* from, int left, bool whole) {
    if (whole) {
        if (left > 0) {
#pragma unroll
            for (int i = 0; i < N * (int)sizeof(T) / 16; ++i)
                reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i)
            if (i < left) to[i] = from[i];
    }
}"""


@dataclass(frozen=True)
class _Kept:
    """A row in the registers of a team."""

    held: tuple[Held, ...]
    terms: tuple[Term, ...]
    team: Team
    vector: int
    """columns of one"""
    full: bool
    """rows fill the registers: no column has to be tested"""


def _write(state: State) -> Proposals:
    read = recognised(state, read_rows, "no kernel of one thread a row")
    if isinstance(read, NotApplicable):
        return read
    facts, rows = read
    held = held_arrays(facts, rows)
    if isinstance(held, str):
        return NotApplicable(held)
    terms = kept_terms(facts, rows, held)
    found = [
        _candidate(facts, rows, held, terms, *sizes) for sizes in _sizes(facts, rows, held, terms)
    ]
    if not found:
        return NotApplicable("the rows of the workloads are too long for registers")
    return tuple(found)


def _vector(held: tuple[Held, ...]) -> int:
    return BYTES // min(h.nbytes for h in held)


def _sizes(
    facts: Facts, rows: Rows, held: tuple[Held, ...], terms: tuple[Term, ...]
) -> Iterator[tuple[int, int, float]]:
    """Threads and vectors a thread that hold the longest row of the workloads, and their prior."""
    vector, longest = _vector(held), max(facts.workload_values(rows.columns))
    registers = -(-vector * peak_bytes(rows, held, terms) // 4)
    barriers = sum(bool(found.reductions) for found in rows.loops)
    few = min(facts.workload_values(rows.rows)) < MANY_ROWS
    fits = list[tuple[float, int, int]]()
    for threads in THREADS:
        offered = (*ITEMS, WARP_ITEMS) if threads == WARP else ITEMS
        items = next((i for i in offered if i * threads * vector >= longest), None)
        most = min(MOST_REGISTERS, REGISTER_FILE // threads * 3 // 4)
        if items is None or items * registers > most:
            continue
        cost = 1 - longest / (items * threads * vector)
        if threads == WARP:
            # a warp waits for no other one, and needs its items to have bytes under way
            cost += 0.05 * abs(items.bit_length() - 2) + (0.5 if few else 0)
        else:
            cost += 0.1 * abs(items - 2) + 0.1 * barriers + (0.2 if threads == 1024 else 0)
        fits.append((cost, threads, items))
    for place, (_, threads, items) in enumerate(sorted(fits)[:VARIANTS]):
        yield threads, items, 0.4 * 0.75**place


def _candidate(
    facts: Facts,
    rows: Rows,
    held: tuple[Held, ...],
    terms: tuple[Term, ...],
    threads: int,
    items: int,
    prior: float,
) -> Candidate:
    team = _team(threads)
    vector = _vector(held)
    # a row of a warp is handed on by shuffles: its 32 threads are no choice
    chosen = {"ROW_THREADS": threads} if team.whole_block else {}
    block = team.threads if team.whole_block else f"{team.threads} * {ROWS_A_BLOCK}"
    region = rows.body[0].span[0], rows.body[-1].span[1]
    strided = _inside(facts, team_edits(facts, rows, team), region)
    # a lane has many columns, whose tests cost more than loops for rows that do not fill it
    lengths = set(facts.workload_values(rows.columns))
    full = threads == WARP and lengths == {threads * items * vector}
    kept = _Kept(held, terms, team, vector, full)
    in_registers = _inside(facts, _kept_edits(facts, rows, kept), region)
    pad = indent_of(facts.source, region[0])
    body = (
        f"// a thread holds ROW_ITEMS vectors of {vector} columns\n"
        f"{pad}if ({rows.columns_text} {'==' if full else '<='} "
        f"{team.threads} * ROW_ITEMS * {vector}) {{\n"
        f"{pad}{in_registers}\n{pad}}} else {{\n{pad}    {strided}\n{pad}}}"
    )
    outside = [e for e in team_edits(facts, rows, team) if e.end <= region[0]]
    bounds = bounded(facts, block, add=True)
    source = edited(
        facts.source, [*outside, *bounds, Edit(*region, body), helpers(facts, rows, team, MOVED)]
    )
    blocks = [rows.rows.text()] if threads > 32 else [f"cdiv({rows.rows.text()}, {ROWS_A_BLOCK})"]
    return Candidate(
        method=MOVE.method,
        detail=f"rows in registers: {threads} threads a row, {items} vectors of {vector} a thread",
        source=source,
        plan=launched(facts, blocks, [block], defines={**chosen, "ROW_ITEMS": items}),
        prior=prior,
    )


def _team(threads: int) -> Team:
    if threads > 32:
        return Team("blockIdx.x", "threadIdx.x", "ROW_THREADS", "", True)
    return Team(
        f"blockIdx.x * {ROWS_A_BLOCK} + threadIdx.x / 32", "threadIdx.x % 32", "32", "", False
    )


def _inside(facts: Facts, edits: list[Edit], region: Span) -> str:
    start, end = region
    inner = [e for e in edits if start <= e.start and e.end <= end]
    text = edited(facts.source, inner, start, end)
    return text.replace("\n", "\n    ").replace("\n    \n", "\n\n")


def _kept_edits(facts: Facts, rows: Rows, kept: _Kept) -> list[Edit]:
    held, terms, team, vector = kept.held, kept.terms, kept.team, kept.vector
    start = rows.body[0].span[0]
    pad = indent_of(facts.source, start)
    declared = "".join(
        f"alignas(16) {h.element} {h.name}[ROW_ITEMS * {vector}];\n{pad}" for h in held
    ) + "".join(f"{t.type} {t.name}[ROW_ITEMS * {vector}];\n{pad}" for t in terms)
    edits = [Edit(start, start, "    " + declared)]
    for number in range(len(rows.loops)):
        edits += _kept_loop(facts, rows, number, kept)
    for store in rows.stores:
        edits.append(Edit(store.span[0], store.span[0], f"if ({team.lane} == 0) "))
    return _with_terms(facts, edits, terms)


def _with_terms(facts: Facts, edits: list[Edit], terms: tuple[Term, ...]) -> list[Edit]:
    """The edits with each term computed once and taken from its registers after that."""
    for term in terms:
        place = f"{term.name}[row_item]"
        start, end = term.first
        inner = [e for e in edits if start <= e.start and e.end <= end]
        computed = f"({place} = {edited(facts.source, inner, start, end)})"
        spans = (term.first, *term.later)
        edits = [e for e in edits if not any(a <= e.start and e.end <= b for a, b in spans)]
        edits += [Edit(start, end, computed), *(Edit(a, b, place) for a, b in term.later)]
    return edits


def _kept_loop(facts: Facts, rows: Rows, number: int, kept: _Kept) -> list[Edit]:
    held, team, vector = kept.held, kept.team, kept.vector
    found = rows.loops[number]
    loop, source = found.loop, facts.source
    pad = indent_of(source, loop.span[0])
    bound = source[loop.bound.span[0] : loop.bound.span[1]].decode()
    first = source[loop.first.span[0] : loop.first.span[1]].decode()
    before = "".join(
        _moved(facts, h, "load", kept, bound, pad) for h in held if h.loaded_in == number
    )
    after = "".join(f"\n{pad}{statement}" for statement in joined(rows, number, team)) + "".join(
        "\n" + pad + _moved(facts, h, "store", kept, bound, pad).rstrip()
        for h in held
        if h.stored_in == number
    )
    column = (
        f"(row_item / {vector} * {team.threads} + {team.lane}) * {vector} + row_item % {vector}"
    )
    tests = [] if first.rstrip("uUlL") == "0" else [f"{loop.variable} >= {first}"]
    tests += [] if kept.full else [f"{loop.variable} < {bound}"]
    guard = f" if ({' && '.join(tests)})" if tests else ""
    head = (
        f"{before}#pragma unroll\n{pad}for (int row_item = 0; row_item < ROW_ITEMS * {vector}; "
        f"++row_item) {{\n{pad}    const {loop.kind} {loop.variable} = {column};\n"
        f"{pad}   {guard}"
    )
    edits = [Edit(*loop.head, head), Edit(loop.span[1], loop.span[1], f"\n{pad}}}{after}")]
    own = {a.item.span for a in found.accesses}
    for h in held:
        edits += [Edit(*span, f"{h.name}[row_item]") for span in h.spans if span in own]
    return edits


def _moved(facts: Facts, held: Held, how: str, kept: _Kept, bound: str, pad: str) -> str:
    """A loop that loads or stores the vectors of a thread."""
    team, vector = kept.team, kept.vector
    names = [e.span for e in within(held.item) if isinstance(e, Name) and e.name == held.variable]
    address = edited(facts.source, [Edit(*span, "row_at") for span in names], *held.item.span)
    registers = f"{held.name} + row_item * {vector}"
    pair = f"{registers}, &{address}" if how == "load" else f"&{address}, {registers}"
    left = str(vector) if kept.full else f"{bound} - row_at"
    # as many columns as vectors hold are a multiple of 16 bytes
    whole = "true" if kept.full and held.whole != "false" else held.whole
    return (
        f"#pragma unroll\n{pad}for (int row_item = 0; row_item < ROW_ITEMS; ++row_item) {{\n"
        f"{pad}    const int row_at = (row_item * {team.threads} + {team.lane}) * {vector};\n"
        f"{pad}    move_columns<{vector}>({pair}, {left}, {whole});\n"
        f"{pad}}}\n{pad}"
    )


MOVE = Move(
    id="row_in_registers",
    method="register_tiling",
    languages=("cuda",),
    why="A softmax or a norm reads its row two or three times. With a team of threads a row, and "
    "the row in their registers, memory is read once and written once, 16 bytes an instruction. "
    "Pays where rows of the workloads fit (some thousand columns).",
    write=_write,
)
