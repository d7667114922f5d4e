"""One evaluated step of a search: from a state of a kernel, by a method, to how it ended."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from ...runners.model import Ending

BASELINE = "baseline"
"""the method that is said to have led to a kernel's baseline"""
Interval = tuple[float, float]


class Transition(BaseModel):
    """A row of the table `transitions`, and a line of `regraph_dataset.jsonl`.

    Rows of other versions have fewer fields, or more: what is missing has its default, what is not
    known here is left out.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    time: str = ""
    """UTC, ISO 8601"""
    kernel_id: str
    arch: str = ""
    """`sm_90a`; `native` for host code"""
    language: str = ""
    """type of the kernel"""
    from_method: str
    """that led to the parent; `baseline` for the baseline"""
    to_method: str
    way: str = ""
    """which way the method was taken (`ways.py`); empty: not known, or like no other"""
    ending: Ending
    ms: dict[str, float] = Field(default_factory=dict[str, float])
    """median time by visible workload; empty unless measured"""
    baseline_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """the baseline's, of the same comparison, else of when the kernel was opened"""
    speedup: float | None = None
    """over the baseline; None unless measured"""
    interval: Interval | None = None
    """95 % interval of the speedup"""
    gain: float | None = None
    """log2 of the speedup over the parent; None unless both were measured"""
    gain_interval: Interval | None = None
    """95 % interval of the gain: of a comparison of the two, else of their comparisons with the
    baseline"""
    reward: float | None = None
    """what the engine made of it (`search/graph/graph.py`)"""
    bottleneck: str = ""
    """class of what bounded the parent (`analysis/rules/bottleneck.py`); empty: unknown"""
    rules: dict[str, str] = Field(default_factory=dict[str, str])
    """rules that had fired on the parent, and the skill behind each"""
    touches_hot_region: bool | None = None
    """whether it changed the region that the profile of the parent blames; None: there was none, or
    it was not built"""
    search_id: str = ""
    edge_id: str = ""
    parent: str = ""
    """variant id"""
    variant_id: str | None = None
    repeated: bool = False
    """an earlier search of the kernel had made the very same step, with a verdict that stays: not
    to be counted again"""
    known_code: bool = False
    """it was built to machine code that another variant had been measured with"""

    @property
    def right(self) -> bool:
        """Whether it got as far as a measurement of its own: a share of another's is no gain."""
        return self.ending.measured and not self.known_code


def difference(
    log2_after: float, after: Interval | None, log2_before: float, before: Interval | None
) -> tuple[float, Interval | None]:
    """The gain from one speedup over the baseline to another, and its interval, in log2.

    `after`, `before`: 95 % intervals of the speedups, which were measured apart: their half widths
    in log2 add in quadrature, as errors of independent measurements do. None where one is unknown.
    """
    gain = log2_after - log2_before
    if after is None or before is None:
        return gain, None
    if min(*after, *before) <= 0 or not math.isfinite(max(*after, *before)):
        return gain, None
    low = math.hypot(log2_after - math.log2(after[0]), math.log2(before[1]) - log2_before)
    high = math.hypot(math.log2(after[1]) - log2_after, log2_before - math.log2(before[0]))
    return gain, (gain - low, gain + high)


def completed(transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """With the gain of those that were written without one, where the parent's speedup is known.

    A parent that no transition of its kernel led to is the baseline if `from_method` says so.
    """
    rows = tuple(transitions)
    speedups = {(r.kernel_id, r.variant_id): r.speedup for r in rows if r.speedup}
    return tuple(_completed(row, speedups) for row in rows)


def _completed(row: Transition, speedups: dict[tuple[str, str | None], float]) -> Transition:
    if row.gain is not None or not row.speedup:
        return row
    before = speedups.get((row.kernel_id, row.parent))
    if before is None and row.from_method == BASELINE:
        before = 1.0
    if before is None:
        return row
    return row.model_copy(update={"gain": math.log2(row.speedup / before)})
