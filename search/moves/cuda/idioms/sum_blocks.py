"""A sum by atomic additions, or a tree in shared memory, becomes one of vectors and shuffles.

A few blocks a multiprocessor run over the array with 16-byte loads; lanes are joined by shuffles,
warps through shared memory. Blocks are joined by an atomic addition each where the contract takes
results that differ in the last bits (`deterministic: false`), or the sum is of integers; else by a
second launch, in the same order each time.
"""

from __future__ import annotations

from typing import Any

from .....runners.dtypes import DTYPES
from .....runners.model import Candidate
from .....runners.specs.declared_plan_model import FillStep
from ...shared.base import Move, NotApplicable, Proposals, State
from ..parts.reading import arguments_of
from .parts.facts import Facts, recognised
from .parts.reductions import Reduction
from .parts.sums import Sum, read_sum
from .parts.teams import BLOCK_TEAM
from .parts.writing import clash, launched, rewritten, template

SUM_BLOCKS = 132 * 8
"""8 blocks of 256 for each multiprocessor of an H100; tuned from here"""
SUM_UNROLL = 4
THREADS = 256
PARTIAL = "block_sums"
KNOBS = {"SUM_BLOCKS": (264, 528, 1056, 2112), "SUM_UNROLL": (1, 2, 4, 8)}
VECTORS = {16: "uint4", 8: "uint2", 4: "unsigned"}
"""plain words of so many bytes, whatever the elements are"""


def _write(state: State) -> Proposals:
    read = recognised(state, read_sum, "no sum of an array into one number")
    if isinstance(read, NotApplicable):
        return read
    facts, found = read
    if taken := clash(facts, "sum.cu"):
        return NotApplicable(taken)
    count = facts.size_text(found.count)
    if count is None:
        return NotApplicable("no argument holds the number of elements")
    atomic = not state.spec.io.deterministic or "int" in facts.arrays[found.output].dtype
    makers = [_one_launch] if atomic else []
    if _cleared(facts, found):
        makers.append(_two_launches)
    if not makers:
        return NotApplicable("the sum is added to what the output held, and must be deterministic")
    return tuple(make(facts, found, count) for make in makers)


def _cleared(facts: Facts, found: Sum) -> bool:
    """Whether the plan sets the output to zero before the launch, so that it may be stored to."""
    name = facts.arrays[found.output].name
    before = facts.plan.steps[: facts.plan.steps.index(facts.step)]
    return any(
        isinstance(s, FillStep) and s.fill == name and not s.pattern.strip("0") for s in before
    )


def _body(facts: Facts, found: Sum, count: str, to: str, store: str) -> str:
    types = {p.name: p.type for p in facts.kernel.function.parameters}
    width = max(w for w in VECTORS if w == 4 or facts.aligned(found.array, w))
    nbytes = DTYPES[facts.arrays[found.array].dtype].itemsize
    return template("sum.cu").substitute(
        T=types[found.array],
        X=found.array,
        OUT=types[found.output],
        TO=to,
        N=count,
        VECTOR=max(1, width // nbytes) if facts.aligned(found.array, width) else 1,
        LOADED=VECTORS[width],
        VALUE=found.value,
        STORE=store,
    )


def _helpers() -> str:
    return BLOCK_TEAM.helpers([Reduction("sum", "total")])


def _one_launch(facts: Facts, found: Sum, count: str) -> Candidate:
    body = _body(facts, found, count, found.output, "atomicAdd(to, total)")
    defines = {"SUM_BLOCKS": SUM_BLOCKS, "SUM_UNROLL": SUM_UNROLL}
    return Candidate(
        method=MOVE.method,
        detail="vector loads, shuffles, and one atomic addition a block",
        source=rewritten(facts, body, "1024", _helpers()),
        plan=launched(facts, ["SUM_BLOCKS"], [THREADS], defines=defines),
        knobs=KNOBS,
        prior=0.4,
    )


def _two_launches(facts: Facts, found: Sum, count: str) -> Candidate:
    """Each block stores its sum, and a last launch of one block adds them up."""
    name, kernel = f"{facts.kernel.name}_of_blocks", facts.kernel
    types = {p.name: p.type for p in kernel.function.parameters}
    out = types[found.output]
    body = _body(facts, found, count, PARTIAL, f"{PARTIAL}[blockIdx.x] = total")
    changed = {found.output: f"{out}* __restrict__ {PARTIAL}"}
    second = (
        f"// the sum of the blocks' sums\n"
        f'extern "C" __global__ void __launch_bounds__(1024) {name}'
        f"(const {out}* __restrict__ parts, {out}* to, int count) {{\n"
        f"    {out} total = 0;\n"
        f"    for (int i = threadIdx.x; i < count; i += blockDim.x) total += parts[i];\n"
        f"    total = block_sum(total);\n    if (threadIdx.x == 0) *to = total;\n}}"
    )
    source = rewritten(facts, body, "1024", f"{_helpers()}\n\n{second}", changed)
    return Candidate(
        method=MOVE.method,
        detail="vector loads, shuffles, and a second launch that adds the blocks' sums",
        source=source,
        plan=_two(facts, found, name),
        knobs=KNOBS,
        prior=0.35,
    )


def _two(facts: Facts, found: Sum, name: str) -> dict[str, Any]:
    output = facts.arrays[found.output]
    names = [p.name for p in facts.kernel.function.parameters]
    given = arguments_of(facts.step, facts.spec)
    args = [PARTIAL if p == found.output else a for p, a in zip(names, given, strict=True)]
    defines = {"SUM_BLOCKS": SUM_BLOCKS, "SUM_UNROLL": SUM_UNROLL}
    plan = launched(facts, ["SUM_BLOCKS"], [THREADS], args=args, defines=defines)
    plan["steps"] = [s for s in plan["steps"] if s.get("fill") != output.name]
    plan["steps"].append(
        {
            "launch": name,
            "grid": [1],
            "block": [1024],
            "args": [PARTIAL, output.name, {"value": "SUM_BLOCKS", "dtype": "int32"}],
        }
    )
    buffer = {"dtype": output.dtype, "shape": ["SUM_BLOCKS"]}
    plan["buffers"] = {**plan.get("buffers", {}), PARTIAL: buffer}
    return plan


MOVE = Move(
    id="sum_blocks",
    method="avoid_atomics_reduce",
    languages=("cuda",),
    why="Atomic additions to one address are done one after the other, and a tree with a barrier "
    "for each round waits most of the time. Vector loads in a grid-stride loop and shuffles read "
    "at the speed of memory. Pays always.",
    write=_write,
)
