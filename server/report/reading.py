"""Reads the report on a kernel from the store; nothing is built, timed or measured for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ...analysis.roofline import summary
from ...evaluation.bench import Bench
from ...evaluation.difference import changed_between, source_diff
from ...evaluation.evidence.headroom import known_peaks
from ...runners.errors import KernelwrightError
from ...runners.model import Evaluation
from ...search.engine.work import ledger_of
from ...search.graph.graph import Graph
from ...search.outdir.overview import searches
from ...search.session.exchanges import ExchangeRecord, account, calls_of
from ...search.stored.graph import graph_of
from ...search.stored.records import SearchRecord
from ...store.evaluations import confirmation_of, figure, newest_evaluations
from ...store.kernels import kernel_record
from ...store.records import Confirmation, KernelRecord, VariantRecord, shapes_of
from ...store.variants import variants_by_id
from .facts import (
    Point,
    Report,
    Roof,
    Rung,
    SearchLine,
    Speedup,
    Standing,
    Times,
    Verdict,
)


@dataclass(frozen=True)
class _Known:
    """What the store has of a kernel, read once."""

    kernel: KernelRecord
    variants: dict[str, VariantRecord]
    evaluations: dict[str, Evaluation]
    confirmation: Confirmation | None
    """of the incumbent"""
    searches: Sequence[tuple[SearchRecord, Graph]]
    """the first started first"""
    calls: Sequence[ExchangeRecord]
    """to whoever planned, of all searches"""

    @property
    def best(self) -> str:
        """The incumbent, or the baseline where the incumbent was found wrong in the end."""
        wrong = self.confirmation is not None and not self.confirmation.right
        return self.kernel.baseline if wrong else self.kernel.incumbent


def report_on(bench: Bench, kernel_id: str, folder: Path) -> Report:
    """The report on a kernel, whose files lie in `folder`. Raises HandleUnknown."""
    known = _known(bench, kernel_id)
    kernel = known.kernel
    roofs, no_roofs = _roofs(bench, known)
    curve, builds = _curve(known)
    return Report(
        name=kernel.loaded.spec.name,
        kernel_id=kernel_id,
        kernel_type=kernel.loaded.spec.kernel.kernel_type,
        baseline=kernel.baseline,
        verdict=_verdict(known),
        machine=_machine(known),
        reproduce=_reproduce(known, folder),
        times=tuple(_times(known)),
        curve=curve,
        builds=builds,
        ladder=_ladder(known),
        endings=_endings(known),
        roofs=roofs,
        no_roofs=no_roofs,
        searches=tuple(_line(search, graph) for search, graph in known.searches),
        costs=account(known.calls),
        seconds=_seconds(known),
    )


def _known(bench: Bench, kernel_id: str) -> _Known:
    store = bench.store
    kernel = kernel_record(store, kernel_id)
    found = searches(store, kernel_id)
    return _Known(
        kernel=kernel,
        variants=variants_by_id(store, kernel_id),
        evaluations={each.variant_id: each for each in newest_evaluations(store, kernel_id)},
        confirmation=confirmation_of(store, kernel.incumbent),
        searches=[(each, graph_of(store, each.search_id)) for each in found],
        calls=[call for each in found for call in calls_of(store, each.search_id)],
    )


def _verdict(known: _Known) -> Verdict:
    kernel, found = known.kernel, known.confirmation
    if kernel.incumbent == kernel.baseline:
        standing: Standing = "nothing" if kernel.timed else "untimed"
        return Verdict(standing=standing, variant_id=kernel.baseline)
    told = figure(known.evaluations.get(kernel.incumbent), found)
    before, after = known.variants[kernel.baseline], known.variants[kernel.incumbent]
    standing = "unconfirmed" if found is None else "confirmed" if found.accepted else "refused"
    return Verdict(
        standing=standing,
        variant_id=kernel.incumbent,
        speedup=_speedup(told.speedup, told.interval),
        searched=told.searched,
        message="" if found is None else found.message,
        rests_on="" if found is None else shapes_of(found),
        changed=changed_between(before.variant, after.variant),
    )


def _speedup(value: float | None, interval: tuple[float, float] | None = None) -> Speedup | None:
    return None if value is None else Speedup(value=value, interval=interval)


def _machine(known: _Known) -> tuple[str, ...]:
    evaluation = known.evaluations.get(known.best) or known.evaluations.get(known.kernel.incumbent)
    if evaluation is None:
        return ()
    parts = list[str]()
    if evaluation.build is not None:
        used = [f"{tool} {version}" for tool, version in sorted(evaluation.build.versions.items())]
        parts.append(f"built by {', '.join(used) or evaluation.build.compiler}")
    if evaluation.device is not None:
        parts.append(f"ran on GPU {evaluation.device}")
    return tuple(parts)


def _reproduce(known: _Known, folder: Path) -> tuple[tuple[str, str], ...]:
    """`folder` as the user gave it."""
    if known.best == known.kernel.baseline:
        return ()
    place = folder / "variants" / known.best
    commands = [
        (f"kernelwright replay {place}", "builds, checks and times it again, beside the baseline")
    ]
    if (place / "build.sh").is_file():
        told = "builds it with the flags and macros that it was timed with"
        commands.append((f"sh {place / 'build.sh'}", told))
    return tuple(commands)


def _times(known: _Known) -> Iterator[Times]:
    """Of the confirmation, where baseline and best were timed side by side; else what is known."""
    kernel, found, best = known.kernel, known.confirmation, known.best
    evaluation = known.evaluations.get(best)
    sides = [None if evaluation is None else evaluation.comparison]
    if found is not None:
        sides = [found.visible, found.held_out]
    rows = {w.workload: w.median_ms for side in sides if side is not None for w in side.workloads}
    for workload in kernel.loaded.spec.workloads:
        row = rows.get(workload.name, {})
        yield Times(
            workload=workload.name,
            held_out=workload.held_out,
            baseline_ms=row.get(kernel.baseline, kernel.baseline_ms.get(workload.name)),
            best_ms=row.get(best) if best != kernel.baseline else None,
        )


def _curve(known: _Known) -> tuple[tuple[Point, ...], int]:
    """The incumbents in the order in which they became it, and the builds of all searches."""
    baseline = known.kernel.baseline
    nought = Speedup(value=1.0)
    points = [
        Point(builds=0, usd=Decimal(0), variant_id=baseline, method="baseline", speedup=nought)
    ]
    builds = 0
    for _, graph in known.searches:
        done = sorted((e for e in graph.edges.values() if e.steps), key=lambda e: e.steps[-1])
        for edge in done:
            builds += edge.builds
            node = None if edge.child is None else graph.nodes[edge.child]
            if not edge.became_incumbent or node is None or node.speedup is None:
                continue
            points.append(
                Point(
                    builds=builds,
                    usd=_spent_until(known, node.key),
                    variant_id=node.key,
                    method=edge.candidate.method,
                    speedup=Speedup(value=node.speedup, interval=node.interval),
                )
            )
    return tuple(points), builds


def _spent_until(known: _Known, variant_id: str) -> Decimal:
    """Dollars of the calls that were made before this variant's evaluation ended. Times of records
    are ISO 8601 in UTC: they sort as they are."""
    evaluation = known.evaluations.get(variant_id)
    until = "" if evaluation is None else evaluation.finished_at
    return sum((call.usd or Decimal(0) for call in known.calls if call.time <= until), Decimal(0))


def _ladder(known: _Known) -> tuple[Rung, ...]:
    """From the baseline's child to the best variant."""
    way, here = list[str](), known.best
    while here != known.kernel.baseline and here in known.variants and here not in way:
        way.append(here)
        here = known.variants[here].parent or known.kernel.baseline
    return tuple(_rung(known, variant_id) for variant_id in reversed(way))


def _rung(known: _Known, variant_id: str) -> Rung:
    record, evaluation = known.variants[variant_id], known.evaluations.get(variant_id)
    parent = known.variants.get(record.parent or known.kernel.baseline)
    before = known.variants[known.kernel.baseline] if parent is None else parent
    name = known.kernel.loaded.spec.kernel.language.file_name
    return Rung(
        variant_id=variant_id,
        method=record.method,
        detail=record.detail,
        changed=changed_between(before.variant, record.variant),
        diff=source_diff(before.variant.source, record.variant.source, name),
        speedup=None if evaluation is None else _speedup(evaluation.speedup, evaluation.interval),
        gain=None if evaluation is None else _gain(known, evaluation, before.variant.variant_id),
    )


def _gain(known: _Known, evaluation: Evaluation, parent: str) -> Speedup | None:
    """Over the variant before: as timed side by side, else the quotient of both speedups."""
    if evaluation.speedup is None:
        return None
    if parent == known.kernel.baseline:
        return _speedup(evaluation.speedup, evaluation.interval)
    beside = None if evaluation.comparison is None else evaluation.comparison.over(parent)
    if beside is not None:
        return Speedup(value=beside.speedup, interval=(beside.low, beside.high))
    before = known.evaluations.get(parent)
    if before is None or not before.speedup:
        return None
    return Speedup(value=evaluation.speedup / before.speedup)


def _endings(known: _Known) -> dict[str, int]:
    """Of every variant but the baseline, and of candidates that gave none."""
    counted = Counter(
        each.ending.value
        for variant_id, each in known.evaluations.items()
        if variant_id != known.kernel.baseline
    )
    edges = (edge for _, graph in known.searches for edge in graph.edges.values())
    counted.update(e.ending.value for e in edges if e.ending is not None and e.child is None)
    return dict(counted.most_common())


def _roofs(bench: Bench, known: _Known) -> tuple[tuple[Roof, ...], str]:
    kernel = known.kernel
    if not kernel.timed:
        return (), "the baseline was not timed"
    try:
        peaks = known_peaks(bench, kernel)
    except KernelwrightError as error:
        return (), error.message
    if peaks is None:
        return (), "the machine's peaks were not measured yet"
    spec, visible = kernel.loaded.spec, [each for each in _times(known) if not each.held_out]
    before = {each.workload: each.baseline_ms for each in visible if each.baseline_ms}
    after = {each.workload: each.best_ms for each in visible if each.best_ms}
    reached = {each.workload: each for each in summary(spec, peaks, after)}
    return tuple(
        Roof(workload=each.workload, before=each, after=reached.get(each.workload))
        for each in summary(spec, peaks, before)
    ), ""


def _line(search: SearchRecord, graph: Graph) -> SearchLine:
    ledger, planning = ledger_of(graph), search.planning
    return SearchLine(
        search_id=search.search_id,
        planner=search.planner,
        model="" if planning is None or planning.command else planning.model,
        started_at=search.started_at,
        builds=ledger.builds,
        budget=search.settings.budget_builds,
        steps=ledger.steps,
        stopped=f"{search.stopped}: {search.stopped_text}" if search.stopped else "",
    )


def _seconds(known: _Known) -> dict[str, float]:
    """By what the time of all evaluations went into, the most first."""
    spent = defaultdict[str, float](float)
    for evaluation in known.evaluations.values():
        for part, seconds in evaluation.seconds.items():
            spent[part] += seconds
    return dict(sorted(spent.items(), key=lambda each: -each[1]))
