"""Signals from the structure of a kernel, for when there is no profile, or beside one.

PTX says what is done and not how long it takes, so each of these counts for half of what counters
would say; what a kernel does not do at all is certain, and counts in full. Only what runs most
often is looked at: the regions within the most loops of unknown trips (`regions/heat.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..ptx.effects import Phase
from ..regions.dag import Region, RegionDag
from ..regions.divergence import Varies
from ..regions.heat import executed
from ..regions.work import Work, total
from .model import STATIC, Signal, merged

VECTOR = 16
"""bytes that one thread can move with one instruction"""
SPECIAL_RATE = 8
"""fp32 operations a cycle over special functions: 128 over 16 on sm_86 to sm_90, half of that on
sm_80 (CUDA programming guide, arithmetic throughput); with more, they take longer than the rest"""
ATOMIC = 4
"""accesses that an atomic operation counts for: a rule of thumb; more where addresses are equal"""
PLAIN_FLOPS = 2
"""of a fused multiply-add, one instruction"""


@dataclass(frozen=True, slots=True)
class Hot:
    """What runs most often."""

    dag: RegionDag
    regions: tuple[Region, ...]
    work: Work
    """of one iteration of the loops of unknown trips"""


def of_structures(dags: Sequence[RegionDag], matrix_work: bool | None) -> tuple[Signal, ...]:
    """The signals of all kernels of a run, each of its strongest, and what none of them does; empty
    without a kernel. `matrix_work`: whether the contract multiplies matrices (`rules/facts.py`)."""
    several = len(dags) > 1
    found = [
        each.model_copy(update={"evidence": f"{dag.entry}, {each.evidence}"}) if several else each
        for dag in dags
        for each in of_structure(dag)
    ]
    return merged([*found, *_absent(dags, matrix_work)] if dags else found)


def _absent(dags: Sequence[RegionDag], matrix_work: bool | None) -> tuple[Signal, ...]:
    work = total((region.work, 1) for dag in dags for region in dag.regions)
    loads = [t for t in work.accesses if t.space == "global" and t.direction in ("load", "store")]
    calls = any(dag.calls for dag in dags)
    shared = any(t.space in ("shared", "generic") for t in work.accesses) or work.unsized
    told = (
        ("tensor_used", work.tensor_flops > 0, "it uses tensor cores"),
        ("no_matrix_work", matrix_work is False, "the contract keeps tensor cores out"),
        ("no_atomics", not work.atomics and not calls, "the PTX has no atomics"),
        ("no_special_functions", not work.special and not calls, "the PTX has none"),
        ("no_shared_memory", not shared and not calls, "the PTX does not use any"),
        ("wide_accesses", bool(loads) and all(t.width >= VECTOR for t in loads),
         f"all global accesses move {VECTOR} B a thread"),
        ("pipelined", any(dag.pipelines for dag in dags), "its loops copy ahead already"),
    )  # fmt: skip
    return tuple(
        Signal(id=name, strength=1.0, source="structure", evidence=text)
        for name, holds, text in told
        if holds
    )


def of_structure(dag: RegionDag) -> tuple[Signal, ...]:
    """The signals of one kernel; none for a kernel without memory accesses and arithmetic."""
    hot = _hot(dag)
    found = ((name, tell(hot)) for name, tell in _TELLERS.items())
    return tuple(
        Signal(id=name, strength=STATIC * told[0], source="structure", evidence=told[1])
        for name, told in found
        if told is not None and told[0] > 0
    )


def _hot(dag: RegionDag) -> Hot:
    working = [
        each
        for each in dag.regions
        if each.work.accesses or each.work.flops or each.work.unsized
        if each.loop is None or not dag.loops[each.loop].waits_only
    ]
    depth = [executed(dag, each.loop) for each in working]
    deepest = max((level for level, _ in depth), default=0)
    regions = [(r, n) for r, (level, n) in zip(working, depth, strict=True) if level == deepest]
    return Hot(dag, tuple(region for region, _ in regions), total((r.work, n) for r, n in regions))


Told = tuple[float, str] | None
"""(from 0 to 1: how much of the work it is about; what is the case, and where)"""


def _narrow(hot: Hot) -> Told:
    plain = {t: n for t, n in hot.work.accesses.items() if t.space == "global"}
    plain = {t: n for t, n in plain.items() if t.direction in ("load", "store")}
    narrow = {t: n for t, n in plain.items() if t.width < VECTOR}
    if not narrow:
        return None
    widths = sorted({t.width for t in narrow})
    share = sum(t.width * n for t, n in narrow.items()) / sum(t.width * n for t, n in plain.items())
    where = _where(hot, lambda region: any(t in narrow for t in region.work.accesses))
    moved = " or ".join(str(width) for width in widths)
    counted = f"{sum(narrow.values())} of {sum(plain.values())}"
    return share, f"{where}: {counted} global accesses of a thread move {moved} B"


def _unpipelined(hot: Hot) -> Told:
    """A loop that brings data to shared memory or tensor cores with plain loads alone."""
    for number, loop in enumerate(hot.dag.loops):
        inside = [r for r in hot.regions if r.loop == number]
        work = total((r.work, 1) for r in inside)
        staged = work.bytes("shared", "store") or work.tensor_flops
        copies = any(r.phase is Phase.async_copy for r in inside)
        if work.bytes("global", "load") and staged and not copies:
            loads = _names([r for r in inside if r.phase is Phase.global_load])
            return 1.0, f"{loads} in loop {loop.name}: plain loads, used in the same iteration"
    return None


def _atomics(hot: Hot) -> Told:
    count, accesses = hot.work.atomics, sum(hot.work.accesses.values())
    if not count:
        return None
    where = _where(hot, lambda region: bool(region.work.atomics))
    share = count * ATOMIC / (count * ATOMIC + accesses - count)
    return share, f"{where}: {count} of {accesses} accesses of a thread are atomics"


def _passes(hot: Hot) -> Told:
    """Loops beside each other that read global memory, in a kernel with special functions."""
    if not any(region.work.special for region in hot.dag.regions):
        return None
    reading = {
        r.loop
        for r in hot.regions
        if r.loop is not None and r.work.bytes("global", "load") and _long(hot.dag, r.loop)
    }
    parents = {hot.dag.loops[each].parent for each in reading}
    if len(reading) < 2 or len(parents) > 1:
        return None
    names = ", ".join(hot.dag.loops[each].name for each in sorted(reading))
    return 1.0, f"loops {names} read global memory one after the other"


def _special(hot: Hot) -> Told:
    special, others = hot.work.special, hot.work.plain_flops / PLAIN_FLOPS
    if hot.work.tensor_flops or special * SPECIAL_RATE < max(1.0, others):
        return None
    where = _where(hot, lambda region: bool(region.work.special))
    return 1.0, f"{where}: {special} special functions for {others:.0f} other operations"


def _guarded(hot: Hot) -> Told:
    guarded = [r for r in hot.regions if r.loop is not None and r.work.guarded]
    if not guarded:
        return None
    accesses = sum(sum(r.work.accesses.values()) for r in hot.regions)
    count = sum(min(r.work.guarded, sum(r.work.accesses.values())) for r in guarded)
    if not count:
        return None
    return count / accesses, f"{_names(guarded)}: {count} of {accesses} accesses have a predicate"


def _branches(hot: Hot) -> Told:
    loops = [loop for loop in hot.dag.loops if not loop.waits_only]
    lines = [
        branch.line
        for branch in hot.dag.branches
        if Varies.data in branch.varies
        if any(loop.first_line <= branch.line <= loop.last_line for loop in loops)
    ]
    if not lines:
        return None
    told = ", ".join(map(str, lines[:4])) + (", ..." if len(lines) > 4 else "")
    return 1.0, f"branches in loops depend on loaded data (PTX lines {told})"


def _barriers(hot: Hot) -> Told:
    loops = {region.loop for region in hot.regions if region.loop is not None}
    for number in sorted(loops):
        count = sum(
            stage.loop == number
            and any(each.startswith(("bar", "barrier")) for each in stage.after)
            for stage in hot.dag.stages
        )
        if count > 1:
            return 1.0, f"loop {hot.dag.loops[number].name} has {count} barriers an iteration"
    return None


_TELLERS: dict[str, Callable[[Hot], Told]] = {
    "narrow_global_accesses": _narrow,
    "unpipelined_loads": _unpipelined,
    "frequent_atomics": _atomics,
    "several_passes": _passes,
    "frequent_special_functions": _special,
    "guarded_accesses": _guarded,
    "data_dependent_branches": _branches,
    "several_barriers": _barriers,
}


def _long(dag: RegionDag, loop: int) -> bool:
    """No remainder of an unrolled loop."""
    return executed(dag, loop)[0] > executed(dag, dag.loops[loop].parent)[0]


def _where(hot: Hot, wanted: Callable[[Region], bool]) -> str:
    return _names([region for region in hot.regions if wanted(region)])


def _names(regions: Sequence[Region] | Iterable[Region], most: int = 3) -> str:
    names = [region.name for region in regions]
    more = ", ..." if len(names) > most else ""
    return f"region{'s' if len(names) > 1 else ''} {', '.join(names[:most])}{more}"
