"""What an outdir holds, as data: for scripts (`show --json`), tables, and comparisons of outdirs.

The models are the format: fields are added, and none changes its meaning without a new number in
`VERSION`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ...runners.errors import AccessError
from ...runners.model import Comparison, Record
from ...store.evaluations import confirmation_of
from ...store.kernels import kernel_records
from ...store.records import Confirmation, KernelRecord
from ...store.store import STATE_FILE, Store
from .overview import VariantLine, searches, variants
from .side_by_side import baseline_beside, candidate_ms

VERSION = 1
Interval = tuple[float, float]


class VariantReport(Record):
    """A variant and what was measured of it."""

    variant_id: str
    parent: str | None
    method: str
    changed: str
    """what it has that the baseline has not"""
    parameters: dict[str, int]
    flags: tuple[str, ...] | None
    """compiler flags of its own; None: those of the spec"""
    ending: str | None
    """how its evaluation ended; None: it had none"""
    speedup: float | None
    """over the baseline: as it was confirmed, else as the search saw it; None: not measured"""
    interval: Interval | None
    """95 % interval of `speedup`; None for the baseline and what was not measured"""
    confirmed: bool | None
    """whether a confirmation accepted it; None: none was made"""
    searched: float | None = None
    """what the search saw, where the confirmation has the word"""
    held_out_speedup: float | None = None
    """on the held-out workloads, from the confirmation"""
    held_out_interval: Interval | None = None
    ms: dict[str, float]
    """median milliseconds of a call by visible workload; empty: not measured"""
    beside_ms: dict[str, float] = Field(default_factory=dict[str, float])
    """of the baseline in the same comparison as `ms`; when it was opened it was timed alone, which
    is another measurement"""
    is_baseline: bool
    is_best: bool


class SearchReport(Record):
    """A search and why it stopped."""

    search_id: str
    planner: str
    budget_builds: int
    started_at: str
    stopped: str | None
    """budget, money, patience, exhausted or headroom; None: it can go on"""
    stopped_text: str


class KernelReport(Record):
    """A kernel with its variants, the best first, and its searches, the oldest first."""

    kernel_id: str
    name: str
    kernel_type: str
    opened_at: str
    baseline_ms: dict[str, float]
    """alone, when it was opened"""
    best: VariantReport
    """the baseline where nothing is faster"""
    variants: tuple[VariantReport, ...]
    searches: tuple[SearchReport, ...]

    @property
    def improved(self) -> bool:
        """Whether a variant faster than the baseline was confirmed."""
        return bool(self.best.confirmed)


class OutdirReport(Record):
    """All kernels of an outdir, the first opened first."""

    format: Literal["kernelwright.outdir"] = "kernelwright.outdir"
    version: Literal[1] = VERSION
    kernels: tuple[KernelReport, ...]


def report_of(outdir: Path) -> OutdirReport:
    """What lies in a folder, nothing of which is started. Raises AccessError where there is no
    state."""
    with Store.open(state_file(outdir)) as store:
        return outdir_report(store)


def state_file(outdir: Path) -> Path:
    """The state file of a folder. Raises AccessError where there is none."""
    path = outdir / STATE_FILE
    if not path.is_file():
        raise AccessError(
            f"{outdir} holds no {STATE_FILE}",
            valid="the --outdir of an earlier `optimize`, or a project's .kernelwright",
        )
    return path


def outdir_report(store: Store) -> OutdirReport:
    """Every kernel that the store holds."""
    return OutdirReport(kernels=tuple(kernel_report(store, k) for k in kernel_records(store)))


def kernel_report(store: Store, kernel: KernelRecord) -> KernelReport:
    """One kernel. Its best is the incumbent, unless a confirmation found that wrong."""
    told = tuple(
        _variant(line, kernel, confirmation_of(store, line.variant_id))
        for line in variants(store, kernel)
    )
    found = confirmation_of(store, kernel.incumbent)
    best = kernel.baseline if found is not None and not found.right else kernel.incumbent
    return KernelReport(
        kernel_id=kernel.kernel_id,
        name=kernel.loaded.spec.name,
        kernel_type=kernel.loaded.spec.kernel.kernel_type,
        opened_at=kernel.opened_at,
        baseline_ms=kernel.baseline_ms,
        best=next(each for each in told if each.variant_id == best),
        variants=told,
        searches=tuple(_searches(store, kernel.kernel_id)),
    )


def _searches(store: Store, kernel_id: str) -> list[SearchReport]:
    return [
        SearchReport(
            search_id=each.search_id,
            planner=each.planner,
            budget_builds=each.settings.budget_builds,
            started_at=each.started_at,
            stopped=each.stopped,
            stopped_text=each.stopped_text,
        )
        for each in searches(store, kernel_id)
    ]


def _variant(
    line: VariantLine, kernel: KernelRecord, confirmation: Confirmation | None
) -> VariantReport:
    record, told = line.record, line.figure
    held_out = None if confirmation is None else confirmation.held_out
    ratio = None if held_out is None else held_out.ratios[0]
    compared = _compared(line, confirmation)
    return VariantReport(
        variant_id=line.variant_id,
        parent=record.parent,
        method=record.method,
        changed=line.changed,
        parameters=record.variant.parameters,
        flags=record.variant.options.flags,
        ending=None if line.ending is None else line.ending.value,
        speedup=line.speedup,
        interval=line.interval,
        confirmed=None if line.is_baseline else told.confirmed,
        searched=None if line.is_baseline else told.searched,
        held_out_speedup=None if ratio is None else ratio.speedup,
        held_out_interval=None if ratio is None else (ratio.low, ratio.high),
        ms=kernel.baseline_ms if line.is_baseline else candidate_ms(compared),
        beside_ms={} if line.is_baseline else baseline_beside(compared, kernel.baseline),
        is_baseline=line.is_baseline,
        is_best=line.is_incumbent,
    )


def _compared(line: VariantLine, confirmation: Confirmation | None) -> Comparison | None:
    """The comparison that a variant's times are of: the confirmation's, else the search's."""
    if confirmation is not None and confirmation.visible is not None:
        return confirmation.visible
    return None if line.evaluation is None else line.evaluation.comparison
