"""A loop whose body looks for the borders, divided into rim, inside and rim.

Inside, comparisons of the variable with the borders have one value and are left out. The order of
the iterations stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....runners.c_source.nodes import inside, text_of
from ....runners.model import Candidate
from ..shared.affine import Form
from ..shared.base import Move, NotApplicable, Proposals, State
from .loop_order import ALONG, walks
from .parts.borders import Comparisons, Rim
from .parts.effects import effects_of
from .parts.folding import Folding
from .parts.program import Loop, Program, as_sum, loop_of, read_program
from .parts.rewrite import counted, instead, outdented, rewritten, with_includes, written
from .parts.scope import Scope

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR, OUTER_PRIOR = 0.35, 0.1
"""of an innermost loop (short ones in it do not count) along memory; of others, whose borders
compilers often move out themselves, or which do not vectorise without them either"""


def _write(state: State) -> Proposals:
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    scope = Scope(program, program.entry, state.spec)
    found = list[Candidate]()
    for loop in reversed(program.entry.loops):
        candidate = _divided(program, loop, scope)
        if candidate is not None:
            found.append(candidate)
    if found:
        return tuple(found)
    return NotApplicable(
        program.unread
        or "no loop's body compares its variable with values near the loop's own bounds"
    )


def _divided(program: Program, loop: Loop, scope: Scope) -> Candidate | None:
    limits = (scope.form(loop.lower), scope.form(loop.bound))
    if limits[0] is None or limits[1] is None or loop.step != 1 or loop.pragmas:
        return None
    if any(n.type in ("break_statement", "goto_statement") for n in inside(loop.body)):
        return None
    end = limits[1] + Form.number(1) if loop.inclusive else limits[1]
    comparisons = Comparisons(loop, limits[0], end, scope)
    rim = comparisons.rim()
    if rim == Rim(0, 0):
        return None
    if loop.unsigned and not (end - Form.number(rim.last)).at_least(0, scope.lowest):
        return None
    folded = Folding(program, comparisons, rim).render(loop.body)
    if folded == program.text(loop.body):
        return None
    lines = _lines(program, loop, rim, folded)
    edits = [*with_includes(program, "<algorithm>"), instead(program, loop.node, lines)]
    inside_of = f"{loop.variable} from {_plus(loop.lower, rim.first)} to {_end(loop, rim)}"
    inner = [each for n in inside(loop.body) if (each := loop_of(n)) is not None]
    innermost = all(each.bound.type == "number_literal" for each in inner)
    along = walks(effects_of(loop.body, scope, program), loop.variable) > ALONG / 2
    prior = PRIOR if innermost and along else OUTER_PRIOR
    return rewritten(program, MOVE.method, f"no border checks for {inside_of}", edits, prior)


def _plus(lower: Node, more: int) -> str:
    value = text_of(lower)
    if value.isdigit():
        return str(int(value) + more)
    return f"{as_sum(lower)} + {more}" if more else value


def _end(loop: Loop, rim: Rim) -> str:
    """Where the inside ends."""
    last = rim.last - 1 if loop.inclusive else rim.last
    bound = as_sum(loop.bound)
    if last == 0:
        return bound
    return f"{bound} - {last}" if last > 0 else f"{bound} + 1"


def _lines(program: Program, loop: Loop, rim: Rim, folded: str) -> list[str]:
    v, kind = loop.variable, loop.kind
    first, end = _plus(loop.lower, rim.first), _end(loop, rim)
    as_it_is = written(program, loop.body)
    plain = outdented(program, loop.body, folded).split("\n")
    lines = list[str]()
    if rim.first:
        until = f"std::min<{kind}>({first}, {loop.upper})"
        lines += _loop(counted(kind, v, text_of(loop.lower), until), as_it_is)
    lines += _loop(counted(kind, v, first, end), plain)
    if rim.last:
        last = f"std::max<{kind}>({first}, {end})"
        lines += _loop(counted(kind, v, last, loop.upper), as_it_is)
    return lines


def _loop(head: str, body: list[str]) -> list[str]:
    if body[0].startswith("{"):
        return [f"{head} {body[0]}", *body[1:]]
    return [f"{head} {{", *("    " + line for line in body), "}"]


MOVE = Move(
    id="inside_and_rim",
    method="pad_tail_and_mask",
    languages=("cpp",),
    why="Divides a loop that looks for the borders in every iteration into rim, inside and rim; "
    "the inside then has no conditions. Pays where these keep the compiler from vectorising, as in "
    "stencils and convolutions.",
    write=_write,
)
