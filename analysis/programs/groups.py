"""Launches that do the same work, with their share of the GPU's time.

A recorded configuration is one group, but where its times say that two kinds of work hide in it
(two products of one grid that differ in what a structure holds), it is two: a fast and a slow
bucket. Kernels of CUDA graphs are no launches; their time goes to the configuration that was
captured, found by name and geometry.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...runners.recording.recorded import Configuration, Recording

SPLIT_RATIO = 2.5
"""between the 95th and the 25th percentile of a configuration's times: they are of two kinds then
(measured on an H200: products of one grid took 97 and 359 us, repeats of one vary by less)"""
FEWEST_TIMES = 8
WHOLE = "all"
Key = tuple[str, tuple[int, int, int], tuple[int, int, int], int]


@dataclass(frozen=True, slots=True)
class Group:
    """Launches of one kind. Times in nanoseconds."""

    configuration: Configuration
    bucket: str
    """`all`, or `fast` and `slow`"""
    count: int
    """runs on the GPU, those in graphs with them"""
    in_graphs: int
    sum_ns: float
    typical_ns: float
    """the middle one; 0 where no times are known"""
    ordinal: int
    """of a launch that stands for the others, 0: none was run outside a graph"""

    @property
    def label(self) -> str:
        """A name that stays the same while the recording does."""
        c = self.configuration
        return f"f{c.function.id}c{c.id}" + ("" if self.bucket == WHOLE else f"-{self.bucket}")


@dataclass(frozen=True, slots=True)
class Unplaced:
    """GPU time of kernels that nothing recorded stands for."""

    name: str
    count: int
    sum_ns: int


@dataclass(frozen=True, slots=True)
class Grouped:
    """All of a recording's time, the largest groups first."""

    groups: tuple[Group, ...]
    unplaced: tuple[Unplaced, ...]

    @property
    def total_ns(self) -> float:
        """The GPU's time in kernels."""
        return sum(g.sum_ns for g in self.groups) + sum(u.sum_ns for u in self.unplaced)


def grouped(recording: Recording) -> Grouped:
    """The groups of a recording; by count of launches where it has no times."""
    in_graphs, unplaced = _placed(recording)
    found = list[Group]()
    for configuration in recording.configurations:
        found += _groups(configuration, *in_graphs.get(configuration.id, (0, 0)))
    found.sort(key=lambda g: (-g.sum_ns, -g.count, g.configuration.id))
    return Grouped(tuple(found), unplaced)


def _placed(recording: Recording) -> tuple[Mapping[int, tuple[int, int]], tuple[Unplaced, ...]]:
    """Count and time in graphs by configuration, and what belongs to none."""
    captured = defaultdict[Key, list[Configuration]](list)
    for c in recording.configurations:
        if c.captured:
            captured[c.function.name, c.grid, c.block, c.shared].append(c)
    placed, rest = dict[int, tuple[int, int]](), list[Unplaced]()
    for row in recording.elsewhere:
        alike = captured.get((row.name, row.grid, row.block, row.shared), [])
        if not alike:
            rest.append(Unplaced(row.name, row.count, row.sum_ns))
            continue
        together = sum(c.captured for c in alike)
        for c in alike:  # they differ in scalars alone, which graphs do not tell: by their number
            count, ns = placed.get(c.id, (0, 0))
            share = c.captured / together
            placed[c.id] = (count + round(row.count * share), ns + round(row.sum_ns * share))
    return placed, tuple(sorted(rest, key=lambda u: -u.sum_ns))


def _groups(c: Configuration, graph_count: int, graph_ns: int) -> list[Group]:
    plain = c.count - c.captured
    sum_ns = c.sum_ns * max(1.0, plain / c.timed) if c.timed else 0.0  # the others took as long
    times = sorted(ns for _, ns in c.times)
    low, high = _quantile(times, 0.25), _quantile(times, 0.95)
    if len(times) < FEWEST_TIMES or high <= SPLIT_RATIO * low:
        return [_group(c, WHOLE, c.times, plain, sum_ns, graph_count, graph_ns)]
    edge = math.sqrt(low * high)
    parts = {
        "slow": [t for t in c.times if t[1] > edge],
        "fast": [t for t in c.times if t[1] <= edge],
    }
    total = sum(times)
    made = list[Group]()
    for bucket, part in parts.items():
        share, time = len(part) / len(times), sum(ns for _, ns in part) / total
        made.append(
            _group(
                c,
                bucket,
                part,
                round(plain * share),
                sum_ns * time,
                round(graph_count * share),
                graph_ns * time,
            )
        )
    return made


def _group(
    c: Configuration,
    bucket: str,
    times: Sequence[tuple[int, int]],
    plain: int,
    plain_ns: float,
    graph_count: int,
    graph_ns: float,
) -> Group:
    middle = _quantile(sorted(ns for _, ns in times), 0.5)
    if not middle and graph_count:
        middle = graph_ns / graph_count
    typical = min(times, key=lambda t: (abs(t[1] - middle), t[0]))[0] if times else c.first_plain
    return Group(
        configuration=c,
        bucket=bucket,
        count=plain + graph_count,
        in_graphs=graph_count,
        sum_ns=plain_ns + graph_ns,
        typical_ns=middle,
        ordinal=typical,
    )


def _quantile(ordered: Sequence[int], share: float) -> float:
    return float(ordered[min(int(share * len(ordered)), len(ordered) - 1)]) if ordered else 0.0
