"""All that a report on a kernel tells, as one frozen value: it is read once (`reading.py`), and
told as Markdown (`markdown.py`) and as a page (`page.py`) by pure functions.

Speedups are over the baseline unless a field says otherwise; intervals are of 95 %.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field

from ...analysis.roofline import WorkloadRoofline
from ...runners.model import Record
from ...search.session.exchanges import Costs

Standing = Literal["confirmed", "refused", "unconfirmed", "nothing", "untimed"]
"""confirmed: measured anew and accepted; refused: measured anew and not accepted; unconfirmed: by
the search alone; nothing: no variant is known to be faster; untimed: not even the baseline was
timed"""


class Speedup(Record):
    """How much faster, with the interval where one was measured."""

    value: float
    interval: tuple[float, float] | None = None


class Verdict(Record):
    """What the run came to."""

    standing: Standing
    variant_id: str
    """the best variant; the baseline where nothing is faster"""
    speedup: Speedup | None = None
    """of the confirmation where there was one, else of the search"""
    searched: float | None = None
    """what the search had measured, where a confirmation has the word"""
    message: str = ""
    """of the confirmation"""
    rests_on: str = ""
    """how many shapes the confirmation rests on, in words"""
    changed: str = ""
    """what the best variant has that the baseline has not"""


class Times(Record):
    """Median times of one workload, milliseconds; `best_ms` None: not measured."""

    workload: str
    held_out: bool
    baseline_ms: float | None
    best_ms: float | None


class Point(Record):
    """A moment at which a variant became the kernel's incumbent; the first is the baseline."""

    builds: int
    """spent until then, over all searches"""
    usd: Decimal
    """spent until then, likewise, to the second"""
    variant_id: str
    method: str
    speedup: Speedup


class Rung(Record):
    """One step of the way from the baseline to the best variant."""

    variant_id: str
    method: str
    detail: str
    changed: str
    diff: str
    """unified, of the source; empty where it is the same"""
    speedup: Speedup | None
    gain: Speedup | None
    """over the step before; with an interval where the two were timed side by side, else the
    quotient of their speedups"""


class Roof(Record):
    """How near a workload is to what bounds it, before and after."""

    workload: str
    before: WorkloadRoofline
    after: WorkloadRoofline | None


class SearchLine(Record):
    """A search in a line."""

    search_id: str
    planner: str
    model: str
    started_at: str
    builds: int
    budget: int
    steps: int
    stopped: str
    """why, in words; empty: it goes on"""

    @property
    def began(self) -> str:
        """When it started, to the minute; times are kept in UTC."""
        return f"{self.started_at[:16].replace('T', ' ')} UTC"


class Report(Record):
    """The report on one kernel of an outdir."""

    name: str
    kernel_id: str
    kernel_type: str
    baseline: str
    verdict: Verdict
    machine: tuple[str, ...] = ()
    """what it was built with and ran on, in words"""
    reproduce: tuple[tuple[str, str], ...] = ()
    """commands, each with what it does"""
    times: tuple[Times, ...] = ()
    curve: tuple[Point, ...] = ()
    builds: int = 0
    """spent over all searches"""
    ladder: tuple[Rung, ...] = ()
    """the baseline is not in it"""
    endings: dict[str, int] = Field(default_factory=dict[str, int])
    """of everything that was tried, the commonest first"""
    roofs: tuple[Roof, ...] = ()
    no_roofs: str = ""
    """why there are none"""
    searches: tuple[SearchLine, ...] = ()
    costs: Costs = Costs()
    seconds: dict[str, float] = Field(default_factory=dict[str, float])
    """of all evaluations, by what they were spent on, the most first"""


def speedup_words(found: Speedup | None) -> str:
    """`1.52x (1.48 to 1.55)`; a dash for what was not measured."""
    if found is None:
        return "-"
    low_high = found.interval
    words = f"{found.value:.3g}x"
    return words if low_high is None else f"{words} ({low_high[0]:.3g} to {low_high[1]:.3g})"


def headline(report: Report) -> str:
    """The verdict in one sentence, the confirmed figure first."""
    verdict = report.verdict
    match verdict.standing:
        case "confirmed":
            return f"{speedup_words(verdict.speedup)} faster, confirmed on {verdict.rests_on}."
        case "refused":
            return "No gain that stands: the best variant of the search was not confirmed."
        case "unconfirmed":
            told = speedup_words(verdict.speedup)
            return f"{told} by the search alone: not confirmed yet."
        case "nothing":
            return "No variant is known to be faster than the baseline."
        case "untimed":
            return "Nothing was timed here: there is no speedup to report."


def wall_parts(report: Report) -> dict[str, float]:
    """Seconds that do not overlap: `gpu` is part of checks and comparisons."""
    return {part: seconds for part, seconds in report.seconds.items() if part != "gpu"}
