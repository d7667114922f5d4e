"""Where a kernel does most work: never how long that takes.

The heat of a region is the sum of its shares in each resource (global bytes, shared bytes, FLOPs,
... ) of all that is executed equally often. Loops whose trips only the launch tells come first:
what they hold outgrows everything else. A remainder loop (`n % 4`) does not count as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .dag import RegionDag
from .work import Work

RESOURCES: dict[str, Callable[[Work], int]] = {
    "global bytes": lambda work: work.bytes("global") + work.bytes("generic"),
    "shared bytes": lambda work: work.bytes("shared"),
    "local bytes": lambda work: work.bytes("local"),
    "tensor FLOPs": lambda work: work.tensor_flops,
    "FLOPs": lambda work: work.plain_flops,
    "special functions": lambda work: work.special,
    "atomics": lambda work: work.atomics,
    "bulk copies of unknown size": lambda work: work.unsized,
    "instructions": lambda work: work.instructions,
}
_REMAINDER = re.compile(r".* % (\d+)")


def executed(dag: RegionDag, loop: int | None) -> tuple[int, int]:
    """(unknown loops around it, executions of one iteration of these)."""
    number, symbols = dag.times(loop)
    level = 0
    for symbol in symbols:
        remainder = _REMAINDER.fullmatch(symbol)
        if remainder is None:
            level += 1
        else:
            number *= max(int(remainder[1]) - 1, 1)
    return level, number


def least_instructions(dag: RegionDag) -> int:
    """Of one thread, if loops of unknown trips are gone through once: what kernels are compared by
    where nobody has measured them."""
    return sum(executed(dag, region.loop)[1] * region.work.instructions for region in dag.regions)


def shares(
    dag: RegionDag, parts: Sequence[tuple[int | None, Work]]
) -> list[tuple[int, dict[str, float]]]:
    """Of each (loop, work), how many unknown loops are around it, and its share, from 0 to 1, in
    every resource that it uses."""
    counts = [executed(dag, loop) for loop, _ in parts]
    amounts = [
        {name: found for name, of in RESOURCES.items() if (found := of(work) * times)}
        for (_, work), (_, times) in zip(parts, counts, strict=True)
    ]
    totals = dict[tuple[int, str], int]()
    for (level, _), amount in zip(counts, amounts, strict=True):
        for name, number in amount.items():
            totals[level, name] = totals.get((level, name), 0) + number
    return [
        (level, {name: number / totals[level, name] for name, number in amount.items()})
        for (level, _), amount in zip(counts, amounts, strict=True)
    ]


def hottest(
    dag: RegionDag, parts: Sequence[tuple[int | None, Work]]
) -> list[tuple[int, dict[str, float]]]:
    """(index of a part, its shares), those with most work first."""
    found = shares(dag, parts)
    order = sorted(
        range(len(parts)), key=lambda each: (-found[each][0], -sum(found[each][1].values()), each)
    )
    return [(each, found[each][1]) for each in order]
