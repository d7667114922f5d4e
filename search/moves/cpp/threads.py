"""The outermost loop whose iterations are apart, divided among threads by OpenMP."""

from __future__ import annotations

from ....runners.c_source.nodes import contains, inside, parents
from ..every_language.compiler_flags import effective_flags
from ..shared.base import Move, NotApplicable, Proposals, State
from .parts.bounds import bounds
from .parts.dependence import iterations_meet
from .parts.program import Loop, Program, loop_of, read_program
from .parts.rewrite import instead, rewritten, written
from .parts.scope import Scope

PRIOR = 0.3
PRAGMA = "#pragma omp parallel for"
FLAG = "-fopenmp"


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    if FLAG not in effective_flags(state):
        return NotApplicable(
            f"the source is built without {FLAG}, so that its threads would not run"
        )
    if b"omp parallel" in program.source or b"std::thread" in program.source:
        return NotApplicable("the source starts threads already")
    scope = Scope(program, program.entry, state.spec)
    reasons = list[str]()
    apart = list[Loop]()
    for loop in program.entry.loops:
        if any(contains(outer.node, loop.node) for outer in apart) or not _is_worth(loop, scope):
            continue
        why = "a pragma speaks of it" if loop.pragmas else iterations_meet(loop, scope, program)
        if why is None:
            apart.append(loop)
        else:
            reasons.append(why)
    if not apart:
        return NotApplicable(reasons[0] if reasons else _no_loop(len(program.entry.loops)))
    edits = [instead(program, loop.node, [PRAGMA, *_same(program, loop)]) for loop in apart]
    names = ", ".join(loop.variable for loop in apart)
    return (rewritten(program, MOVE.method, f"threads over {names}", edits, PRIOR),)


def _no_loop(counted: int) -> str:
    if not counted:
        return "the entry has no loop that counts from a first to a last value in plain steps"
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


def _same(program: Program, loop: Loop) -> list[str]:
    return written(program, loop.node)


MOVE = Move(
    id="threads",
    method="parallelise",
    languages=("cpp",),
    why="Divides the outermost loops whose iterations are apart among threads. Pays where a call "
    "takes well over 50 microseconds and more than one core is there; threads that only wait for "
    "one memory win little.",
    write=_write,
)
