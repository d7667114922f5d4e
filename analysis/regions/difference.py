"""How the work of two variants differs, region by region.

Regions are matched by what they are, not where: phase, number of loops around them, work. Those
equal in all three cancel; the rest pairs up within phase and depth, most work with most work. Names
and order of code do not matter, so that moving code shows no change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from .dag import Region, RegionDag
from .heat import RESOURCES
from .records import Change, Difference
from .views import counts
from .work import Work, total

CHANGES = 6
"""rows of each list"""
Kind = tuple[str, int]
"""phase, loops around it"""


def difference(before: RegionDag, after: RegionDag, offset: int = 0) -> Difference:
    """What changed, appeared and vanished from one kernel to another; time linear in both.

    `offset`: so many rows of each list are left out, those with most work.
    """
    first, second = _by_kind(before), _by_kind(after)
    same, changed = 0, list[Change]()
    appeared, vanished = list[Change](), list[Change]()
    for kind in dict.fromkeys([*first, *second]):
        old, new, equal = _unmatched(first.get(kind, []), second.get(kind, []))
        old, new = sorted(old, key=_most_work), sorted(new, key=_most_work)
        same += equal
        pairs = min(len(old), len(new))
        changed += [_change(kind, a, b) for a, b in zip(old, new, strict=False)]
        vanished += [_change(kind, each, None) for each in old[pairs:]]
        appeared += [_change(kind, None, each) for each in new[pairs:]]
    every = (changed, appeared, vanished)
    lists = [sorted(each, key=_size, reverse=True)[offset:] for each in every]
    return Difference(
        before=before.entry,
        after=after.entry,
        same=same,
        changed=tuple(lists[0][:CHANGES]),
        appeared=tuple(lists[1][:CHANGES]),
        vanished=tuple(lists[2][:CHANGES]),
        left_out=sum(max(len(each) - CHANGES, 0) for each in lists),
        totals=_totals(before, after),
        live_registers=_told(before, after, lambda dag: f"{dag.live.words} words"),
        loops=_told(before, after, _loops),
    )


def _depth(dag: RegionDag, region: Region) -> int:
    return 0 if region.loop is None else dag.loops[region.loop].depth


def _by_kind(dag: RegionDag) -> dict[Kind, list[Region]]:
    found = dict[Kind, list[Region]]()
    for region in dag.regions:
        found.setdefault((region.phase.value, _depth(dag, region)), []).append(region)
    return found


def _unmatched(old: list[Region], new: list[Region]) -> tuple[list[Region], list[Region], int]:
    """Those without an equal on the other side, and how many have one."""
    have, want = Counter(_key(each.work) for each in old), Counter(_key(each.work) for each in new)
    equal = have & want
    return _without(old, equal), _without(new, equal), equal.total()


def _without(regions: list[Region], equal: Counter[object]) -> list[Region]:
    left, kept = Counter(equal), list[Region]()
    for each in regions:
        key = _key(each.work)
        if left[key]:
            left[key] -= 1
        else:
            kept.append(each)
    return kept


def _key(work: Work) -> object:
    return (
        work.instructions,
        frozenset(work.accesses.items()),
        frozenset(work.flops.items()),
        work.guarded,
        work.unsized,
    )


def _most_work(region: Region) -> tuple[int, ...]:
    work = region.work
    return (-work.tensor_flops, -work.bytes(), -work.plain_flops, -work.instructions)


def _change(kind: Kind, before: Region | None, after: Region | None) -> Change:
    return Change(
        phase=kind[0],
        depth=kind[1],
        before=before.name if before is not None else None,
        after=after.name if after is not None else None,
        work_before=counts(before.work) if before is not None else None,
        work_after=counts(after.work) if after is not None else None,
    )


def _size(change: Change) -> tuple[bool, int, int]:
    """Changes of what moves or computes first, those in loops before the others."""
    works = [each for each in (change.work_before, change.work_after) if each]
    instructions = [each["instructions"] for each in works]
    most = max((each for each in instructions if isinstance(each, int)), default=0)
    return any(len(each) > 1 for each in works), change.depth, most


def _totals(before: RegionDag, after: RegionDag) -> dict[str, str]:
    sums = [_by_depth(before), _by_depth(after)]
    told = dict[str, str]()
    for depth in sorted({*sums[0], *sums[1]}):
        old, new = (each.get(depth, Work()) for each in sums)
        for name, of in RESOURCES.items():
            if of(old) != of(new):
                told[f"depth {depth}: {name}"] = f"{of(old)} -> {of(new)}"
    return told


def _by_depth(dag: RegionDag) -> dict[int, Work]:
    parts = dict[int, list[tuple[Work, int]]]()
    for region in dag.regions:
        parts.setdefault(_depth(dag, region), []).append((region.work, 1))
    return {depth: total(each) for depth, each in parts.items()}


def _loops(dag: RegionDag) -> str:
    found: Iterable[str] = (f"{x.name}: {x.count}" for x in dag.loops if not x.waits_only)
    return ", ".join(found) or "none"


def _told(before: RegionDag, after: RegionDag, of: Callable[[RegionDag], str]) -> str:
    old, new = of(before), of(after)
    return f"{old} in both" if old == new else f"{old} -> {new}"
