"""What is read or written once leaves the caches first; what is read again stays."""

from __future__ import annotations

import ast
from collections import defaultdict

from ....runners.model import Candidate
from ....runners.specs.spec import KernelSpec
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.kernels import Kernel, kernels_of
from .parts.nodes import walk
from .parts.source import is_call
from .parts.tiles import pointer_of
from .parts.values import Values

FIRST, LAST = 'eviction_policy="evict_first"', 'eviction_policy="evict_last"'
HINTS = {"eviction_policy", "cache_modifier"}


def _write(state: State) -> Proposals:
    kernels = kernels_of(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    found = [
        c if len(kernels) == 1 else c.model_copy(update={"detail": f"{c.detail} ({kernel.name})"})
        for kernel in kernels
        for c in _of(state, kernel)
    ]
    if not found:
        return NotApplicable("its accesses have cache hints already, or tl.dot reads what it loads")
    return tuple(found)


def _of(state: State, kernel: Kernel) -> list[Candidate]:
    if any(is_call(n, "dot") for n in walk(kernel.function)):
        return []
    values, arguments = Values(kernel), Arguments(state, kernel)
    loads, stores = _open(values, "load"), [c for s in _open(values, "store").values() for c in s]
    small = _small(state.spec, arguments, loads)
    streams = [calls[-1] for base, calls in loads.items() if base not in small]
    again = [c for base, calls in loads.items() for c in (calls if base in small else calls[:-1])]
    wanted = (
        ("loads that are the last of their data leave first", [(c, FIRST) for c in streams], 0.1),
        ("stores pass the caches by", [(c, 'cache_modifier=".cs"') for c in stores], 0.1),
        ("what is read again stays, what is not leaves first",
         [*((c, LAST) for c in again), *((c, FIRST) for c in streams)] if again else [], 0.2),
        ("loads and stores of streams leave the caches first",
         [(c, FIRST) for c in (*streams, *stores)] if streams and stores else [], 0.12),
    )  # fmt: skip
    return [
        Candidate(
            method=MOVE.method,
            detail=told,
            source=kernel.source.edited(_hint(kernel, call, text) for call, text in changes),
            prior=prior,
        )
        for told, changes, prior in wanted
        if changes
    ]


def _open(values: Values, kind: str) -> dict[str, list[ast.Call]]:
    """Accesses in order by array, of those arrays that none has a hint for."""
    found = defaultdict[str, list[ast.Call]](list)
    for node in walk(values.kernel.function):
        if isinstance(node, ast.Call) and is_call(node, kind):
            found[pointer_of(values, node)].append(node)
    return {
        base: sorted(calls, key=lambda c: c.lineno)
        for base, calls in found.items()
        if not any(HINTS & {k.arg for k in call.keywords} for call in calls)
    }


def _small(spec: KernelSpec, arguments: Arguments, bases: dict[str, list[ast.Call]]) -> set[str]:
    """Arrays of fewer axes than the largest: a row that every program reads."""
    known = {b: a for b in bases if (a := arguments.in_contract(b)) is not None}
    most = max((len(a.shape) for a in spec.io.arguments), default=0)
    return {b for b, a in known.items() if len(a.shape) < most}


def _hint(kernel: Kernel, call: ast.Call, text: str) -> Edit:
    last = [*call.args, *(k.value for k in call.keywords)][-1]
    _, end = kernel.source.span(last)
    return Edit(end, end, f", {text}")


MOVE = Move(
    id="cache_policies",
    method="cache_policy_cg",
    languages=("triton",),
    why="Says which accesses leave the caches first (`evict_first`, stores `.cs`) and which stay "
    "(`evict_last`): rows that a second pass reads, weights that every program reads. Pays where "
    "data that is read again is driven out before.",
    write=_write,
)
