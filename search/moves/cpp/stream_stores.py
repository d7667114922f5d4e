"""Stores of a large output that go past the caches, a line at a time.

On x86 with SSE; elsewhere the same source copies. A line is computed in 64 bytes of stack first, so
that the compiler sees no store that might change what it loads.
"""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....runners.c_source.nodes import field, inside, text_of
from ....runners.errors import ExpressionError
from ....runners.model import Candidate
from ....runners.specs.expressions import evaluate_int
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.dependence import iterations_meet
from .parts.effects import effects_of
from .parts.program import Loop, Program, read_program
from .parts.rewrite import (
    before_functions,
    block,
    counted,
    free_name,
    instead,
    rewritten,
    with_includes,
    written,
)
from .parts.scope import Scope

if TYPE_CHECKING:
    from tree_sitter import Node

PRIOR = 0.08
LARGE = 8 << 20
"""bytes of an output: more than the caches of a core hold"""
X86 = ("x86_64", "AMD64")
HELPERS = """\
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// 64 bytes to an aligned address that nobody reads soon, past the caches where the machine can.
inline void {store}(float* to, const float* from) {{
#if defined(__SSE__)
    for (int n = 0; n < 16; n += 4) _mm_stream_ps(to + n, _mm_load_ps(from + n));
#else
    std::memcpy(to, from, 64);
#endif
}}

// What was stored so far comes before what follows.
inline void {done}() {{
#if defined(__SSE__)
    _mm_sfence();
#endif
}}
"""


@dataclass(frozen=True, eq=False)
class Stream:
    """A loop whose body computes values and stores one."""

    loop: Loop
    before: tuple[Node, ...]
    element: Node
    value: Node


def _write(state: State) -> Proposals:
    if platform.machine() not in X86:
        return NotApplicable("only x86 has such stores in C++ without assembler")
    program = read_program(state)
    if isinstance(program, NotApplicable):
        return program
    if b"_mm_stream" in program.source:
        return NotApplicable("the source streams its stores already")
    scope = Scope(program, program.entry, state.spec)
    found: list[Stream] = []
    reasons = list[str]()
    for loop in program.entry.loops:
        if not any(n.type == "for_statement" for n in inside(loop.body)):
            stream = _stream(program, loop, scope, state)
            if isinstance(stream, str):
                reasons.append(stream)
            else:
                found.append(stream)
    if not found:
        return NotApplicable(
            reasons[0] if reasons else program.unread or "the entry has no counted loop"
        )
    return (_candidate(program, found),)


def _stream(program: Program, loop: Loop, scope: Scope, state: State) -> Stream | str:
    where = f"the loop over {loop.variable}"
    if any(n.type == "call_expression" for n in (loop.lower, loop.bound)):
        return f"{where} is a rim"
    *before, last = loop.statements or (loop.body,)
    given = last.named_children[0] if last.named_children else last
    if any(n.type != "declaration" for n in before) or given.type != "assignment_expression":
        return f"{where} does more than declare values and store one"
    element, value = field(given, "left"), field(given, "right")
    place = scope.place(element)
    if place is None or scope.role(place.array) != "output" or text_of(given.children[1]) != "=":
        return f"{where} does not end with a store to an output"
    step = None if place.index[-1] is None else place.index[-1].coefficient(loop.variable)
    if step is None or step.constant != 1 or len(place.index) != 1:
        return f"{where} does not store to neighbours"
    if scope.arrays[place.array] != "float" or loop.step != 1 or loop.pragmas or loop.unsigned:
        return f"{where} stores no floats one by one, or a pragma speaks of it"
    if any(a.reads for a in effects_of(program.entry.body, scope, program).of(place.array)):
        return f"`{place.array}` is read again"
    if not _is_large(state, program, place.array):
        return (
            f"`{place.array}` is smaller than {LARGE >> 20} MiB: it may be read from a cache next"
        )
    named = {text_of(n) for n in inside(element) if n.type == "identifier"}
    if named & effects_of(loop.body, scope, program).private:
        return f"`{text_of(element)}` is declared in {where}"
    why = iterations_meet(loop, scope, program)
    return why or Stream(loop, tuple(before), element, value)


def _is_large(state: State, program: Program, array: str) -> bool:
    names = [p.name for p in program.entry.parameters]
    argument = state.spec.io.arguments[names.index(array)]
    try:
        counts = [
            math.prod(evaluate_int(s, w.symbols) for s in argument.shape)
            for w in state.spec.workloads
            if not w.held_out
        ]
    except ExpressionError:
        return False
    return max(counts) * 4 >= LARGE


def _candidate(program: Program, found: list[Stream]) -> Candidate:
    names = {n: free_name(program, n) for n in ("stream_line", "streams_done")}
    helpers = HELPERS.format(store=names["stream_line"], done=names["streams_done"])
    edits = [*with_includes(program, "<cstdint>", "<cstring>"), before_functions(program, helpers)]
    edits += [_edit(program, each, *names.values()) for each in found]
    arrays = ", ".join(sorted({f"`{text_of(each.element)}`" for each in found}))
    return rewritten(program, MOVE.method, f"{arrays} stored past the caches", edits, PRIOR)


def _edit(program: Program, stream: Stream, store: str, done: str) -> Edit:
    loop, v, kind = stream.loop, stream.loop.variable, stream.loop.kind
    first, lane = free_name(program, f"{v}_first"), free_name(program, "lane")
    line = free_name(program, "line")
    element, value = text_of(stream.element), "\n".join(written(program, stream.value))
    declared = [each for n in stream.before for each in written(program, n)]
    plain = [each for n in loop.statements for each in written(program, n)]
    aligned = f"if (reinterpret_cast<std::uintptr_t>(&{element}) % 64 == 0) break;"
    at = f"const {kind} {v} = {first}"
    return instead(
        program,
        loop.node,
        block(
            "",
            [
                f"{kind} {first} = {text_of(loop.lower)};",
                *block(f"for (; {first} < {loop.upper}; ++{first})", [f"{at};", aligned, *plain]),
                *block(
                    f"for (; {first} <= {loop.upper} - 16; {first} += 16)",
                    [
                        f"alignas(64) float {line}[16];",
                        *block(
                            counted("int", lane, "0", "16"),
                            [
                                f"{at} + {lane};",
                                *declared,
                                *f"{line}[{lane}] = {value};".split("\n"),
                            ],
                        ),
                        f"{at};",
                        f"{store}(&{element}, {line});",
                    ],
                ),
                *block(f"for ({kind} {v} = {first}; {v} < {loop.upper}; ++{v})", plain),
                f"{done}();",
            ],
        ),
    )


MOVE = Move(
    id="stream_stores",
    method="cache_policy_cg",
    languages=("cpp",),
    why="Stores a large output past the caches, so that its lines are not read before they are "
    "written. Pays where memory is what a loop waits for: a third less traffic for a copy.",
    write=_write,
)
