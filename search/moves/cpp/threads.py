"""Loops whose iterations are apart, divided among threads by OpenMP; and those that reduce to sums
or extremes, or add into few bins, and are apart otherwise.

Each thread of a `reduction` has a part of its own, and parts are combined as threads end. Where the
contract asks for the same bits every time, a sum that rounds is added up in a fixed number of parts
in their order instead, whatever threads there are; bins that round are left alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....runners.c_source.nodes import contains, inside, parents, text_of
from ..every_language.compiler_flags import effective_flags
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.bins import Bins, bins_of
from .parts.bounds import bounds
from .parts.dependence import carried_by_arrays, iterations_meet, shared_arrays
from .parts.effects import Effects, effects_of
from .parts.program import Loop, Program, as_sum, loop_of, minus, read_program
from .parts.reductions import Reduction, reductions_of
from .parts.rewrite import block, counted, free_name, instead, rewritten, written
from .parts.scope import Scope
from .parts.teams import in_a_team

PRIOR = 0.3
PRAGMA = "#pragma omp parallel for"
FLAG = "-fopenmp"
PARTS = 64
"""of a sum in fixed parts: enough for the cores of most hosts, and few beside a sum that pays"""
BITS = "which `io.deterministic` false would allow"
CLAUSES = {"+": "+", "*": "*", ">": "max", "<": "min"}


@dataclass(frozen=True)
class Divided:
    """A loop for a team, and what it reduces to."""

    loop: Loop
    reductions: tuple[Reduction, ...]
    bins: tuple[Bins, ...] = ()

    @property
    def told(self) -> str:
        """In words."""
        sums = ", ".join(f"`{r.name}`" for r in (*self.reductions, *self.bins))
        return f"{self.loop.variable}{f' (reduces {sums})' if sums else ''}"


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    if FLAG not in effective_flags(state):
        return NotApplicable(
            f"the source is built without {FLAG}, so that its threads would not run"
        )
    scope = Scope(program, program.entry, state.spec)
    apart, reasons = _apart(program, scope)
    if not apart:
        return NotApplicable(
            reasons[0] if reasons else program.unread or _no_loop(len(program.entry.loops))
        )
    fixed = state.spec.io.deterministic
    edits = [_edit(program, each, fixed=fixed) for each in apart]
    detail = f"threads over {', '.join(each.told for each in apart)}"
    return (rewritten(program, MOVE.method, detail, edits, PRIOR),)


def _apart(program: Program, scope: Scope) -> tuple[list[Divided], list[str]]:
    """The outermost loops that a team may divide, and the reasons against others."""
    reasons, apart = list[str](), list[Divided]()
    for loop in program.entry.loops:
        inside_one = any(contains(outer.loop.node, loop.node) for outer in apart)
        if inside_one or not _is_worth(loop, scope):
            continue
        found = _divided(loop, scope, program)
        if isinstance(found, str):
            reasons.append(found)
        else:
            apart.append(found)
    return apart, reasons


def _divided(loop: Loop, scope: Scope, program: Program) -> Divided | str:
    if in_a_team(loop.node, program):
        return "the source starts threads there already"
    if loop.pragmas:
        return "a pragma speaks of it"
    why = iterations_meet(loop, scope, program)
    if why is None:
        return Divided(loop, ())
    effects = effects_of(loop.body, scope, program)
    if effects.trouble or effects.jumps:
        return why
    statements = [
        n for n in inside(loop.body) if n.type in ("expression_statement", "if_statement")
    ]
    found = reductions_of(program.entry, loop, effects, statements)
    if isinstance(found, str):
        return f"{why}; {found}"
    if not _counts_up(loop, scope):
        return f"the loop over {loop.variable} counts without signs, and may have no iterations"
    bins = _bins(loop, effects, scope)
    if bins is None:
        return carried_by_arrays(loop, effects, scope) or why
    if isinstance(bins, str):
        return f"{why}; {bins}"
    if bins and scope.spec.io.deterministic and any(r.rounds for r in (*found, *bins)):
        return f"{why}; its sums would have other bits with each number of threads, {BITS}"
    return Divided(loop, found, bins)


def _bins(loop: Loop, effects: Effects, scope: Scope) -> tuple[Bins, ...] | str | None:
    """Arrays that iterations meet in, all of them bins; or why one is none, as `bins_of` has it."""
    found = list[Bins]()
    for array in shared_arrays(loop, effects, scope):
        bins = bins_of(array, loop, effects, scope)
        if not isinstance(bins, Bins):
            return bins
        found.append(bins)
    return tuple(found)


def _counts_up(loop: Loop, scope: Scope) -> bool:
    """Whether the size of its range does not wrap."""
    limits = bounds(loop, scope)
    return not loop.unsigned or (limits is not None and limits[0].constant == 0)


def _edit(program: Program, each: Divided, *, fixed: bool) -> Edit:
    """`fixed`: sums have the same bits every time."""
    loop = each.loop
    if fixed and any(r.rounds for r in each.reductions) and loop.step == 1:
        return instead(program, loop.node, _in_fixed_parts(program, each))
    simd = " simd" if each.reductions and not each.bins and _is_plain(loop) else ""
    clauses = _clauses(each.reductions) + "".join(bins.clause for bins in each.bins)
    directive = PRAGMA.replace(" for", f" for{simd}") + clauses
    return instead(program, loop.node, [directive, *written(program, loop.node)])


def _clauses(reductions: tuple[Reduction, ...]) -> str:
    return "".join(f" reduction({CLAUSES[r.sign]}:{r.name})" for r in reductions)


def _is_plain(loop: Loop) -> bool:
    """Whether its body is one straight line, for the lanes of vectors."""
    barred = ("for_statement", "call_expression", "if_statement")
    return not any(n.type in barred for n in inside(loop.body))


def _in_fixed_parts(program: Program, each: Divided) -> list[str]:
    """What takes the place of a loop, in braces: its names are its own."""
    loop, kind, v = each.loop, each.loop.kind, each.loop.variable
    most, part = free_name(program, "kParts"), free_name(program, "part")
    first, last = free_name(program, f"{v}_first"), free_name(program, f"{v}_last")
    extent = free_name(program, f"{v}_extent")
    parts = {r.name: free_name(program, f"{r.name}_parts") for r in each.reductions}
    own = {r.name: free_name(program, f"{r.name}_part") for r in each.reductions}
    lower = text_of(loop.lower)
    size = loop.upper if lower == "0" else f"{loop.upper} - {minus(loop.lower)}"
    base = "" if lower == "0" else f"{as_sum(loop.lower)} + "
    body = [line for n in loop.statements for line in written(program, n, own)]
    renamed = tuple(Reduction(own[r.name], r.kind, r.sign) for r in each.reductions)
    directive = [f"#pragma omp simd{_clauses(renamed)}"] if _is_plain(loop) else []
    return block(
        "",
        [
            f"constexpr int {most} = {PARTS};",
            f"const long long {extent} = {size};",
            *(f"{r.kind} {parts[r.name]}[{most}];" for r in each.reductions),
            PRAGMA,
            *block(
                counted("int", part, "0", most),
                [
                    f"const {kind} {first} = {base}{extent} * {part} / {most};",
                    f"const {kind} {last} = {base}{extent} * ({part} + 1) / {most};",
                    *(f"{r.kind} {own[r.name]} = {r.neutral};" for r in each.reductions),
                    *directive,
                    *block(counted(kind, v, first, last), body),
                    *(f"{parts[r.name]}[{part}] = {own[r.name]};" for r in each.reductions),
                ],
            ),
            *block(
                counted("int", part, "0", most),
                [r.combined.format(part=f"{parts[r.name]}[{part}]") for r in each.reductions],
            ),
        ],
    )


def _no_loop(counted: int) -> str:
    loops = "the one counted loop" if counted == 1 else f"each of {counted} counted loops"
    return (
        f"{loops} has too little to do for a team: it runs to no size of the contract, or a loop "
        "around it would call the team again and again"
    )


def _is_worth(loop: Loop, scope: Scope) -> bool:
    """Whether a team of threads has enough to do: sizes of the contract, two of them if the team
    is called again and again by a loop around it."""
    inner = (loop_of(n) for n in inside(loop.body))
    deep = any(each is not None and _is_long(each, scope) for each in inner)
    nested = any(loop_of(above) is not None for above in parents(loop.node))
    return _is_long(loop, scope) and (deep or not nested)


def _is_long(loop: Loop, scope: Scope) -> bool:
    """Whether a loop runs to a size of the contract."""
    limits = bounds(loop, scope)
    return limits is None or (limits[1] - limits[0]).constant is None


MOVE = Move(
    id="threads",
    method="parallelise",
    languages=("cpp",),
    why="Divides the outermost loops whose iterations are apart, or only reduce to sums and "
    "extremes or add into few bins, among threads. Pays where a call takes well over 50 "
    "microseconds and more than one core is there; threads that only wait for one memory win "
    "little. Sums are added in another order.",
    write=_write,
)
