"""A tile of sums in registers: rows by columns of the output over the whole inner loop.

The last tile of a row or column is moved back to end where the output ends, so that every tile is
whole; what it has in common with the tile before is computed twice and stored once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ....runners.c_source.declarators import declared_name
from ....runners.c_source.nodes import inside, parents, text_of
from ....runners.model import Candidate
from ..every_language.compiler_flags import effective_flags
from ..shared.base import Move, Proposals, State
from .parts.accumulation import Accumulation, read_accumulation
from .parts.dependence import iterations_meet
from .parts.effects import Effects, effects_of
from .parts.program import Loop, Program, loop_of, minus
from .parts.rewrite import (
    block,
    counted,
    deeper,
    free_name,
    instead_of_loop,
    rewritten,
    with_includes,
    written,
)
from .parts.scope import Scope
from .parts.sum_order import sums_innermost
from .parts.teams import in_a_team
from .sum_in_register import also_of_sums_in_memory
from .threads import FLAG, PRAGMA

if TYPE_CHECKING:
    from tree_sitter import Node

TILES = ((8, 32, 0.5), (4, 16, 0.25))
"""rows, columns, prior: for 32 and for 16 vector registers, with columns of four bytes"""
SIMD = "#pragma omp simd"
UNROLL = "#pragma GCC unroll 16"
PARALLEL = re.compile(r"#\s*pragma\s+omp\s+parallel\s+for\s*((schedule|num_threads)\s*\(\w+\)\s*)*")


@dataclass(frozen=True, eq=False)
class Tiling:
    """What is tiled: `rows` and `columns` are the loops around the accumulation."""

    rows: Loop
    columns: Loop
    outer: Loop
    """its pragmas go to the loop over tiles"""
    read: Accumulation


def _write(state: State) -> Proposals:
    teams = FLAG in effective_flags(state)
    return also_of_sums_in_memory(state, partial(_tilings, teams=teams), sums_innermost)


def _tilings(program: Program, scope: Scope, teams: bool) -> tuple[Candidate, ...] | str:
    """`teams`: whether a team of threads would run; tiles are then divided among one as well, since
    no later move could tell that tiles which overlap at the end store nothing twice."""
    reasons = list[str]()
    for loop in program.entry.loops:
        if len(loop.statements) != 1:
            continue
        found = _tiling(program, loop, scope)
        if not isinstance(found, str):
            plain = [_candidate(program, found, *tile) for tile in TILES]
            if not (teams and _divisible(program, found, scope)):
                return tuple(plain)
            return (*plain, *(_candidate(program, found, *tile, PRAGMA) for tile in TILES))
        reasons.append(found)
    return (
        reasons[0]
        if reasons
        else program.unread or "no two nested loops hold a third that adds up into a scalar"
    )


def _tiling(program: Program, outer: Loop, scope: Scope) -> Tiling | str:
    inner = next((each for each in program.entry.loops if each.node == outer.statements[0]), None)
    if inner is None:
        return f"the loop over {outer.variable} is not all there is around another"
    read = read_accumulation(inner, scope, program)
    if isinstance(read, str):
        return read
    for loop in (outer, inner):
        if loop.step != 1:
            return f"the loop over {loop.variable} does not step by one"
        why = iterations_meet(loop, scope, program)
        if why is not None:
            return why
    if not all(PARALLEL.fullmatch(text_of(p).strip()) for p in outer.pragmas):
        return "a pragma speaks of this order of the loops"
    terms = effects_of(read.loops[-1].body, scope, program)
    stores = effects_of(inner.body, scope, program)
    columns = _along(stores, terms, (inner, outer))
    if columns is None:
        return (
            f"neither {inner.variable} nor {outer.variable} walks along memory in the store and in "
            "all of the sum"
        )
    rows = outer if columns is inner else inner
    why = _unfit(read, terms, stores, rows, columns, bool(outer.pragmas))
    return why or Tiling(rows, columns, outer, read)


def _divisible(program: Program, tiling: Tiling, scope: Scope) -> bool:
    """Whether a team may divide the tiles: it is the only one, is not called again and again by a
    loop around it, and reads nothing that another thread writes."""
    read, inner = tiling.read, tiling.columns if tiling.outer is tiling.rows else tiling.rows
    around = any(loop_of(above) is not None for above in parents(tiling.outer.node))
    if around or tiling.outer.pragmas or in_a_team(tiling.outer.node, program):
        return False
    terms = effects_of(read.loops[-1].body, scope, program)
    stores = effects_of(inner.body, scope, program)
    return _unfit(read, terms, stores, tiling.rows, tiling.columns, True) is None


def _along(stores: Effects, terms: Effects, loops: tuple[Loop, Loop]) -> Loop | None:
    """The loop along which the store goes on to the next element, and no access further."""
    for loop in loops:
        steps = list[int | None]()
        for access in (*terms.accesses, *(a for a in stores.accesses if a.writes)):
            last = access.place.index[-1]
            factor = None if last is None else last.coefficient(loop.variable)
            steps.append(None if factor is None else factor.constant)
        stored = steps[len(terms.accesses) :]
        if set(steps) <= {0, 1} and set(stored) == {1}:
            return loop
    return None


def _unfit(
    read: Accumulation,
    terms: Effects,
    stores: Effects,
    rows: Loop,
    columns: Loop,
    threads: bool,
) -> str | None:
    names = {rows.variable, columns.variable} | {
        declared_name(d) for n in read.constants for d in n.children_by_field_name("declarator")
    }
    bounded = [loop.header for loop in read.loops]
    if any(names & set(re.findall(r"[A-Za-z_]\w*", head)) for head in bounded):
        return "the inner loop's bounds change with the element"
    limits = " ".join(text_of(n) for loop in (rows, columns) for n in (loop.lower, loop.bound))
    if names & set(re.findall(r"[A-Za-z_]\w*", limits)):
        return "one loop's bounds name the other's variable"
    used = [
        {n for form in a.place.index if form is not None for n in form.names}
        for a in terms.accesses
    ]
    if all(rows.variable in each for each in used):
        return f"no value is used by more than one {rows.variable}"
    if threads and any(not a.writes for a in stores.accesses if a.place.array in stores.written):
        return "threads would read elements that another one writes"
    if any(f.type == "call_expression" for n in read.terms for f in inside(n)):
        return "the sum's terms hold calls, which cost more than what a tile saves"
    return None


def _candidate(
    program: Program, tiling: Tiling, rows: int, columns: int, prior: float, team: str = ""
) -> Candidate:
    double = any(a.kind == "double" for a in tiling.read.accumulators)
    columns = columns // 2 if double else columns
    names = Names(program, tiling)
    lines = _lines(program, tiling, names)
    original = written(program, tiling.outer.node)
    directives = [text_of(p).strip() for p in tiling.outer.pragmas] + [team] * bool(team)
    whole = (
        f"{_extent(tiling.rows)} >= {names.rows} && {_extent(tiling.columns)} >= {names.columns}"
    )
    new = [
        f"constexpr int {names.rows} = {rows}, {names.columns} = {columns};",
        f"if ({whole}) {{",
        *deeper([*directives, *lines]),
        "} else {",
        *deeper([*directives, *original]),
        "}",
    ]
    edits = [*with_includes(program, "<algorithm>"), instead_of_loop(program, tiling.outer, new)]
    detail = f"{rows} x {columns} sums over {tiling.rows.variable} and {tiling.columns.variable}"
    detail += ", tiles divided among threads" if team else ""
    return rewritten(program, MOVE.method, detail, edits, prior)


def _extent(loop: Loop) -> str:
    first = text_of(loop.lower)
    return loop.upper if first == "0" else f"{loop.upper} - {minus(loop.lower)}"


class Names:
    """Names of the new constants and variables, free in the source."""

    def __init__(self, program: Program, tiling: Tiling) -> None:
        self.rows = free_name(program, "kTileRows")
        self.columns = free_name(program, "kTileColumns")
        self.r, self.c = free_name(program, "r"), free_name(program, "c")
        around = (tiling.rows.variable, tiling.columns.variable)
        self.tile = {v: free_name(program, f"{v}_tile") for v in around}
        self.first = {v: free_name(program, f"{v}_first") for v in around}


def _lines(program: Program, tiling: Tiling, names: Names) -> list[str]:
    """The loops over tiles."""
    read = tiling.read
    sums = {a.name: f"{a.name}[{names.r}][{names.c}]" for a in read.accumulators}
    first = [f"{sums[a.name]} = {text_of(a.first)};" for a in read.accumulators]
    terms = [line for n in read.terms for line in written(program, n, sums)]
    after = [line for n in read.after for line in written(program, n, sums)]
    inner = _each(program, tiling, names, terms)
    for loop in reversed(read.loops):
        inner = block(loop.header, inner)
    body = [
        *(f"{a.kind} {a.name}[{names.rows}][{names.columns}];" for a in read.accumulators),
        *_each(program, tiling, names, first),
        *inner,
        *_each(program, tiling, names, after, store=True),
    ]
    for loop, size in ((tiling.rows, names.rows), (tiling.columns, names.columns)):
        tile, kind = names.tile[loop.variable], loop.kind
        moved = f"std::min<{kind}>({tile}, {loop.upper} - {size})"
        head = counted(kind, tile, text_of(loop.lower), loop.upper, size)
        body = block(head, [f"const {kind} {names.first[loop.variable]} = {moved};", *body])
    return body


def _each(
    program: Program, tiling: Tiling, names: Names, body: list[str], store: bool = False
) -> list[str]:
    """Loops over the elements of a tile around some lines."""
    i, j = tiling.rows, tiling.columns
    code = "\n".join(body)
    needed: list[str] = []
    for node in reversed(tiling.read.constants):
        lines = written(program, node)
        if any(_uses("\n".join([*needed, code]), d) for d in _declarators(node)):
            needed = [*lines, *needed]
    row = [f"const {i.kind} {i.variable} = {names.first[i.variable]} + {names.r};"]
    element = [f"const {j.kind} {j.variable} = {names.first[j.variable]} + {names.c};"]
    if store:
        row.append(f"if ({i.variable} < {names.tile[i.variable]}) continue;")
        element.append(f"if ({j.variable} < {names.tile[j.variable]}) continue;")
    inner = block(counted("int", names.c, "0", names.columns), [*element, *needed, *body])
    return [UNROLL, *block(counted("int", names.r, "0", names.rows), [*row, SIMD, *inner])]


def _declarators(declaration: Node) -> list[Node]:
    return declaration.children_by_field_name("declarator")


def _uses(code: str, declarator: Node) -> bool:
    return re.search(rf"\b{re.escape(declared_name(declarator))}\b", code) is not None


MOVE = Move(
    id="register_tile",
    method="register_tiling",
    languages=("cpp",),
    why="Keeps a tile of sums in registers over the whole inner loop, so that each value loaded is "
    "used by several rows and each sum costs no load and no store. Pays most for products of "
    "matrices: it is the step that reaches the arithmetic peak. Sizes below a tile keep the loops.",
    write=_write,
)
