"""What is known of a variant without building, running or measuring anything now: a kept profile,
the launch plan and what the compiler told, its PTX, its measured time. Signals for the prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...analysis.levels import Level
from ...analysis.prior.model import Signal
from ...analysis.roofline import Roofline, roofline
from ...analysis.rules.facts import facts_of
from ...analysis.rules.model import Facts
from ...runners.errors import KernelwrightError
from ...store.records import ArtifactRecord
from ...store.variants import known_artifact
from .built_structure import planned_profile, structures
from .profiles import kept_profile

if TYPE_CHECKING:
    from ...analysis.regions import RegionDag
    from ...analysis.rules.findings import Findings
    from ...runners.limits.limits import Peaks
    from ...runners.profiling.model import Profile
    from ...store.records import KernelRecord
    from ..bench import Bench


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the prior rests on."""

    signals: tuple[Signal, ...]
    levels: tuple[Level, ...]
    """roofs and how near the variant is to them"""
    basis: tuple[str, ...]
    """what there was to look at, and what could not be read"""
    counted: bool = False
    """a profile was among it"""
    bottleneck: str = ""
    """class of what bounds it (`analysis/rules/bottleneck.py`); `unknown` is one"""
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    """rules that fired, the one to act on first, and the skill behind each"""


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """What the rules say of a variant, and what they looked at."""

    workload: str
    """the first visible one that has a profile, else the first visible one"""
    profile: Profile | None
    """kept, of that workload"""
    planned: Profile | None
    """without one: its launches as they are planned"""
    dags: Mapping[str, RegionDag]
    """the structure of its PTX, by kernel"""
    unread: tuple[str, ...]
    """why some could not be read"""
    timed: Roofline | None
    found: Findings


def known_findings(bench: Bench, kernel: KernelRecord, variant_id: str) -> KnownFindings:
    """What the rules say of a variant on the first visible workload that has a profile, else on the
    first visible one. Takes up to 0.5 s a megabyte of PTX."""
    label, profile = _profiled(bench, kernel, variant_id)
    record = known_artifact(bench.store, variant_id)
    timed = timed_roofline(bench, kernel, variant_id, label)
    dags, unread = structures(bench, record, label)
    planned = None if profile else planned_profile(bench, kernel, record, label)
    found = _findings(profile, planned, record, dags, facts_for(kernel, label), timed)
    return KnownFindings(label, profile, planned, dags, unread, timed, found)


def evidence(bench: Bench, kernel: KernelRecord, variant_id: str) -> Evidence:
    """All that is known of a variant, as `known_findings` looks at it."""
    from ...analysis.prior.signals import of_findings, of_language
    from ...analysis.prior.structure import of_structures

    seen = known_findings(bench, kernel, variant_id)
    matrix_work = facts_for(kernel, seen.workload).matrix_work
    looked = (seen.profile, seen.planned, seen.timed)
    counted, planned, timed = (each is not None for each in looked)
    return Evidence(
        signals=(
            *of_findings(seen.found.ranked, seen.found.bottleneck),
            *of_structures(tuple(seen.dags.values()), matrix_work),
            *of_language(kernel.spec.kernel.kernel_type),
        ),
        levels=seen.found.levels,
        basis=_basis(seen.workload, counted, planned, timed, bool(seen.dags), seen.unread),
        counted=counted,
        bottleneck=seen.found.bottleneck.kind,
        rules={each.rule: each.skill for each in seen.found.ranked},
    )


def facts_for(kernel: KernelRecord, workload: str) -> Facts:
    """What the contract says of one workload."""
    symbols = next(w.symbols for w in kernel.spec.workloads if w.name == workload)
    return facts_of(kernel.spec.io, symbols)


def measured_ms(bench: Bench, kernel: KernelRecord, variant_id: str) -> dict[str, float]:
    """The median times of a variant by workload, milliseconds; empty: it was not timed."""
    evaluation = bench.evaluator.evaluation(variant_id)
    if evaluation is not None and evaluation.comparison is not None:
        return evaluation.comparison.median_ms
    return dict(kernel.baseline_ms) if variant_id == kernel.baseline else {}


def timed_roofline(
    bench: Bench,
    kernel: KernelRecord,
    variant_id: str,
    workload: str,
    peaks: Peaks | None = None,
) -> Roofline | None:
    """The roofline of a variant's measured time; None where it was not timed, or the peaks are not
    known. `peaks`: None: those that were measured before."""
    from .headroom import known_peaks

    milliseconds = measured_ms(bench, kernel, variant_id).get(workload)
    if milliseconds is None:
        return None
    try:
        known = peaks or known_peaks(bench, kernel)
    except KernelwrightError:  # a GPU without a datasheet: the roofline is unknown, no more
        return None
    work = facts_for(kernel, workload).work
    return None if known is None else roofline(work, known, milliseconds / 1e3)


def profiled_workload(bench: Bench, kernel: KernelRecord, variant_id: str) -> str | None:
    """The first visible workload of which a profile of a variant is kept; None: there is none."""
    label, profile = _profiled(bench, kernel, variant_id)
    return None if profile is None else label


def _profiled(bench: Bench, kernel: KernelRecord, variant_id: str) -> tuple[str, Profile | None]:
    labels = [w.name for w in kernel.spec.workloads if not w.held_out]
    kept = ((label, kept_profile(bench, variant_id, label)) for label in labels)
    return next((each for each in kept if each[1] is not None), (labels[0], None))


def _findings(
    profile: Profile | None,
    planned: Profile | None,
    record: ArtifactRecord | None,
    dags: Mapping[str, RegionDag],
    facts: Facts,
    timed: Roofline | None,
) -> Findings:
    from ...analysis.rules.findings import findings
    from ...analysis.rules.unrun import without_counters

    if profile is None and planned is not None and record is not None:
        return without_counters(planned, record.facts.kernels, dags, facts, timed)
    return findings(profile, facts, timed)


def _basis(
    label: str, counted: bool, planned: bool, timed: bool, dags: bool, unread: tuple[str, ...]
) -> tuple[str, ...]:
    told = (
        (counted, f"the counters of its profile ({label})"),
        (planned, f"launch plan and compiler ({label})"),
        (dags, "the structure of its PTX"),
        (timed and not counted, f"its measured time ({label})"),
    )
    return (*(text for holds, text in told if holds), *unread)
