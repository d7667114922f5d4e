"""A kernel's memory in short: what works, what does not, and what is open, with counts; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from ..runners.model import Record
from .memory import Lesson
from .regraph.tallies import BETTER
from .regraph.ways import way_of

Verdict = Literal["works", "does not work", "open"]
ENOUGH: Final = 2
"""tries without a gain from which something counts as not working; a rule of thumb"""
MOST: Final = 8
"""lines of each list"""


class Taught(Record):
    """One way of one method, over all states of the kernel that it was tried from."""

    method: str
    way: str
    """as `ways.way_of` names it, else what was changed"""
    verdict: Verdict
    times: int
    """tries from different states, or of different sources"""
    better: int
    """that gained 1 % at least over the state that they were tried from"""
    failed: int
    """that were not measured"""
    gain: float | None = None
    """log2, the largest; None: never measured beside its parent"""
    reason: str = ""
    """of the last failure"""
    says: str = ""
    """what several ways have taught together (`housekeeping/grouping.py`); empty: it is one way"""

    def describe(self) -> str:
        """`tune_parameters num_warps=8: 3 of 4 tries gained, +12.0 % at most`."""
        gain = "" if self.gain is None else f", {100 * (2**self.gain - 1):+.1f} % at most"
        failed = f", {self.failed} failed" if self.failed else ""
        why = f" ({self.reason})" if self.failed == self.times and self.reason else ""
        name = self.says or f"{self.method} {self.way}".strip()
        tries = "1 try" if self.times == 1 else f"{self.times} tries"
        return f"{name}: {self.better} of {tries} gained{gain}{failed}{why}"


def taught(lessons: Iterable[Lesson]) -> tuple[Taught, ...]:
    """Every way of every method that a kernel's lessons tell of, the most often tried first.

    Something works where most tries gained, and does not where `ENOUGH` did not and none gained;
    a method whose way is prose (`ways.py`) is told by what it changed.
    """
    groups = dict[tuple[str, str], dict[tuple[str, str, str | None], Lesson]]()
    for each in lessons:
        tries = groups.setdefault((each.method, way_of(each.detail) or each.changed), {})
        tries[each.parent, each.change, each.variant_id] = each
    found = [_taught(*name, list(tries.values())) for name, tries in groups.items()]
    return tuple(sorted(found, key=lambda t: (-t.times, -(t.gain or 0.0), t.method, t.way)))


def digest(found: Iterable[Taught], most: int = MOST) -> dict[Verdict, tuple[str, ...]]:
    """Lines by verdict, `most` each and how many were left out; a verdict of nothing is not there.

    What works is told by its gain, the largest first, the others in the order given.
    """
    lists, all_of = dict[Verdict, tuple[str, ...]](), list(found)
    for verdict in get_args(Verdict):
        ours = [each for each in all_of if each.verdict == verdict]
        if verdict == "works":
            ours.sort(key=lambda each: -(each.gain or 0.0))
        if ours:
            lists[verdict] = _lines(ours, most)
    return lists


def _lines(found: Sequence[Taught], most: int) -> tuple[str, ...]:
    left = len(found) - most
    more = (f"and {left} more",) if left > 0 else ()
    return (*(each.describe() for each in found[:most]), *more)


def _taught(method: str, way: str, tries: Sequence[Lesson]) -> Taught:
    gains = [each.gain for each in tries if each.gain is not None]
    better = sum(gain >= BETTER for gain in gains)
    failures = [each for each in tries if not each.ending.measured]
    return Taught(
        method=method,
        way=way,
        verdict=verdict_of(len(tries), better),
        times=len(tries),
        better=better,
        failed=len(failures),
        gain=max(gains, default=None),
        reason=failures[-1].lesson if failures else "",
    )


def verdict_of(times: int, better: int) -> Verdict:
    """What tries come to of which some gained."""
    if 2 * better > times:
        return "works"
    return "does not work" if not better and times >= ENOUGH else "open"
