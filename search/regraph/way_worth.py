"""What a way of a method is worth beside what else could be tried from the same state.

Gains of one kernel say little of another's, where all candidates may bring more: what carries over
is which of them was ahead. So a way counts by its gains over the mean of all that was tried from
the same parent (`tallies.Way`), each kernel once. Ways that differ in numbers alone are one
pattern, of which it is learned how far ahead a try is the larger a number is: `tiles of 128x256x64`
can be thought of where only `64x64x32` and `32x64x64` were tried.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

Key = tuple[str, str]
"""method, and a way or a pattern"""
Ahead = Mapping[Key, Mapping[str, float]]
"""by method and way, by kernel: log2 that the way was ahead there, in the mean of its tries"""
KERNELS: Final = 1.0
"""kernels that the broader place counts as; a rule of thumb"""
RIDGE: Final = 2.0
"""squares of doublings that a slope of 0 counts as; a rule of thumb"""
SHARPNESS: Final = 12.0
"""doublings of the weight for a way that is ahead by one. With the others chosen on the Triton
kernels argmax, gemm, layernorm, stencil and reduction (`benchmarks/regraph_replay.py`); a way that
is ahead by a sixth has all that a factor may be"""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Trend:
    """A pattern of ways: how far ahead at `centre`, and by how much more a doubling of each of its
    numbers."""

    usual: float
    centre: tuple[float, ...] = ()
    slopes: tuple[float, ...] = ()

    def at(self, values: Iterable[float]) -> float:
        """log2 that values (log2, too) are expected to be ahead."""
        moved = zip(self.slopes, values, self.centre, strict=True) if self.slopes else ()
        return self.usual + math.fsum(slope * (x - c) for slope, x, c in moved)


@dataclass(frozen=True)
class WayWorth:
    """What is known of ways in one language."""

    ahead: Ahead = field(default_factory=dict[Key, Mapping[str, float]])
    trends: Mapping[Key, Trend] = field(default_factory=dict[Key, Trend])

    def expected(self, method: str, way: str) -> float:
        """log2 that a try is expected to be ahead; 0 where nothing is known."""
        pattern, values = pattern_of(way)
        trend = self.trends.get((method, pattern))
        broader = 0.0 if trend is None else trend.at(values)
        here = self.ahead.get((method, way), {})
        return (KERNELS * broader + math.fsum(here.values())) / (KERNELS + len(here))

    def factor(self, method: str, way: str, least: float, most: float) -> float:
        """On the prior of a candidate, within bounds."""
        return min(max(2.0 ** (SHARPNESS * self.expected(method, way)), least), most)


def way_worth(ahead: Ahead) -> WayWorth:
    """With the trends of all patterns."""
    patterns = dict[Key, dict[str, list[tuple[tuple[float, ...], float]]]]()
    for (method, way), kernels in ahead.items():
        pattern, values = pattern_of(way)
        for kernel, log2 in kernels.items():
            place = patterns.setdefault((method, pattern), {})
            place.setdefault(kernel, []).append((values, log2))
    return WayWorth(ahead, {key: _trend(kernels) for key, kernels in patterns.items()})


def pattern_of(way: str) -> tuple[str, tuple[float, ...]]:
    """A way with # for its numbers, and their log2; one that is 0 counts as 1."""
    values = tuple(math.log2(max(int(each), 1)) for each in _NUMBER.findall(way))
    return _NUMBER.sub("#", way), values


def _trend(kernels: Mapping[str, list[tuple[tuple[float, ...], float]]]) -> Trend:
    """Ridge regression within kernels (Hoerl and Kennard 1970): each is centred, so that what sets
    kernels apart does not count."""
    means = [math.fsum(log2 for _, log2 in rows) / len(rows) for rows in kernels.values()]
    usual = math.fsum(means) / (len(means) + KERNELS)
    tables = [np.array([values for values, _ in rows]) for rows in kernels.values()]
    width = tables[0].shape[1]
    if not width or all(len(table) < 2 for table in tables):
        return Trend(usual)
    moved = np.vstack([table - table.mean(axis=0) for table in tables])
    gained = np.concatenate([_centred([log2 for _, log2 in rows]) for rows in kernels.values()])
    slopes = np.linalg.solve(moved.T @ moved + RIDGE * np.eye(width), moved.T @ gained)
    centre = np.vstack(tables).mean(axis=0)
    return Trend(usual, tuple(map(float, centre)), tuple(map(float, slopes)))


def _centred(values: list[float]) -> npt.NDArray[np.float64]:
    found = np.array(values)
    return found - found.mean()
