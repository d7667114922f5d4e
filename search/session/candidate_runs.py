"""The evaluation of a search's work: one variant, or the configurations of a candidate with knobs,
of which the best one counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from ...evaluation.evaluator import Evaluator
from ...runners.errors import SpecError
from ...runners.model import Candidate, Evaluation
from ...runners.progress import about
from ...runners.specs.devices import DeviceFacts
from ...store.records import KernelRecord, VariantRecord
from ..engine.work import Evaluate
from ..stored.variants import changed, state_of, variant_from
from ..tuning import Batches, Judged, tune, tuning_of
from .build_limit import build_limit
from .candidate_result import CandidateResult, TuningCost
from .sweep_report import SweepReport, surely

AT_ONCE = 4
"""configurations that are built side by side where builds do not disturb what is timed; the sweep
learns from them together"""


@dataclass(frozen=True)
class CandidateRuns:
    """Evaluates candidates of one search, in any thread. `lanes`: devices that serve the kernel.
    `late`: whether the search's time is over, which ends a sweep with what it has."""

    evaluator: Evaluator
    kernel: KernelRecord
    min_gain: float
    seed: int
    lanes: int
    late: Callable[[], bool]

    def run(self, work: Evaluate, lane: DeviceFacts | None) -> CandidateResult | SpecError:
        """How it ended; the error where the candidate gives no variant."""
        parent = self.evaluator.variant(work.parent)
        try:
            if work.candidate.knobs is not None:
                return self._tuned(work, parent, lane)
            record = self._record(work.candidate, parent)
            with about(f"{work.candidate.method} {changed(work.candidate)}".rstrip()):
                (only,) = self._each([record], lane, self.min_gain, None)
                return only
        except SpecError as error:
            return error

    def _tuned(
        self, work: Evaluate, parent: VariantRecord, lane: DeviceFacts | None
    ) -> CandidateResult:
        """The best configuration. Raises SpecError where none gives a variant."""
        tuning = tuning_of(work.candidate, state_of(self.kernel, parent.variant))
        space, at_once = tuning.space, AT_ONCE if self._side_by_side else 1
        run = tune(tuning, space, builds=work.builds, at_once=at_once, seed=self.seed)
        report = SweepReport(work.candidate, len(space), work.builds)
        tried = self._through(run, parent, lane, report)
        if not tried:
            raise SpecError("no configuration of its knobs gives a variant", valid="other values")
        builds = sum(each.builds for _, each in tried)  # to be measured anew costs none
        return best_of(self._settled(tried, lane), len(space), builds)

    def _settled(
        self, tried: Sequence[tuple[str, CandidateResult]], lane: DeviceFacts | None
    ) -> list[tuple[str, CandidateResult]]:
        """The same, the best one as the incumbent if it earns it, and last. None became it before:
        the gates of the incumbent cost more than all else, and only the best is worth them. One
        that seems to be better still is measured against it directly."""
        settled = {each.variant_id: (detail, each) for detail, each in tried}
        looked = set[str]()
        for detail, each in sorted(tried, key=lambda one: -surely(one[1].evaluation)):
            code = each.evaluation.same_code_as or each.variant_id
            if code not in looked and self._seems_to_beat_the_incumbent(each.evaluation):
                looked.add(code)
                with about(f"{detail}, the best configuration"):
                    record = self.evaluator.variant(each.variant_id)
                    found = self.evaluator.reconsider(record, self.min_gain, lane)
                del settled[each.variant_id]
                again = replace(each, evaluation=found, promoted=found.became_incumbent)
                settled[each.variant_id] = detail, again
        return list(settled.values())

    def _seems_to_beat_the_incumbent(self, evaluation: Evaluation) -> bool:
        """By their direct comparison, or by their speedups where there was none."""
        if evaluation.speedup is None or evaluation.comparison is None:
            return False
        incumbent = self.evaluator.kernel(evaluation.kernel_id).incumbent
        direct = evaluation.comparison.over(incumbent)
        if direct is not None:
            return direct.judgement == "faster" and direct.speedup >= 1 + self.min_gain
        now = self.evaluator.evaluation(incumbent)
        return now is None or evaluation.speedup > (now.speedup or 1.0)

    @property
    def _side_by_side(self) -> bool:
        return self.lanes == 1 and self.kernel.spec.kernel.language.on_gpu

    def _through(
        self, run: Batches, parent: VariantRecord, lane: DeviceFacts | None, report: SweepReport
    ) -> list[tuple[str, CandidateResult]]:
        """All that gave a variant, each with its detail."""
        tried, batch = list[tuple[str, CandidateResult]](), next(run, ())
        known = self.evaluator.evaluation(parent.variant.variant_id)
        while batch and not (tried and self.late()):
            limit_s = build_limit((each.evaluation for _, each in tried), known)
            results = self._batch(batch, parent, lane, report, limit_s)
            pairs = zip(batch, results, strict=True)
            tried += [(c.detail, each) for c, each in pairs if each is not None]
            batch = _sent(run, [_judged(each) for each in results])
        return tried

    def _batch(
        self,
        batch: Sequence[Candidate],
        parent: VariantRecord,
        lane: DeviceFacts | None,
        report: SweepReport,
        limit_s: float | None,
    ) -> list[CandidateResult | None]:
        """How each ended, in this order, told as soon as it has; None: it gave no variant.
        `limit_s`: of each build."""
        made = [(c, self._record_if_any(c, parent)) for c in batch]
        records = [record for _, record in made if record is not None]
        asked = {r.variant.variant_id: c for c, r in made if r is not None}
        found = dict[str, CandidateResult]()
        with (
            about(report.coming(batch)),
            closing(self._each(records, lane, None, limit_s)) as each,
        ):
            for one in each:
                report.ended(asked[one.variant_id], one)
                found[one.variant_id] = one
        return [None if record is None else found[record.variant.variant_id] for _, record in made]

    def _each(
        self,
        records: Sequence[VariantRecord],
        lane: DeviceFacts | None,
        min_gain: float | None,
        limit_s: float | None,
    ) -> Generator[CandidateResult]:
        """How each ended, in the order in which they end."""
        ids = [record.variant.variant_id for record in records]
        before = {each: self.evaluator.evaluation(each) for each in ids}
        if len(records) > 1 and self._side_by_side:
            found = self.evaluator.evaluate_all(records, min_gain, limit_s)
        else:
            found = (self.evaluator.evaluate(each, min_gain, lane, limit_s) for each in records)
        for evaluation in found:
            yield _tried(evaluation, before[evaluation.variant_id])

    def _record(self, candidate: Candidate, parent: VariantRecord) -> VariantRecord:
        return VariantRecord(
            variant=variant_from(self.kernel, parent.variant, candidate),
            parent=parent.variant.variant_id,
            method=candidate.method,
            detail=candidate.detail,
        )

    def _record_if_any(self, candidate: Candidate, parent: VariantRecord) -> VariantRecord | None:
        try:
            return self._record(candidate, parent)
        except SpecError:
            return None


def best_of(
    tried: Sequence[tuple[str, CandidateResult]], space: int, builds: int
) -> CandidateResult:
    """The configuration that became the incumbent last, else the one whose interval begins highest,
    so that noise is not chosen, else the first that failed; with what all of them cost. Each comes
    with its detail. `space`: how many there were to choose from; `builds`: spent on all."""
    promoted = [each for each in tried if each[1].promoted]
    measured = [each for each in tried if each[1].evaluation.speedup is not None]
    if promoted:
        detail, best = promoted[-1]
    elif measured:
        detail, best = max(measured, key=lambda each: surely(each[1].evaluation))
    else:
        detail, best = tried[0]
    every = [each for _, each in tried]
    endings = Counter(str(t.evaluation.ending) for t in every if not t.evaluation.ending.measured)
    failed = "".join(f", {count} {ending}" for ending, count in sorted(endings.items()))
    known = sum(each.known for each in every)
    counts = ((len(every) - known, "tried"), (known, "known"))
    counted = " and ".join(f"{count} {what}" for count, what in counts if count)
    said = f"{detail}, the best of {counted} of {space} configurations{failed}"
    return replace(best, several=TuningCost(builds, said, _seconds(every)))


def _sent(run: Batches, judged: Sequence[Judged]) -> tuple[Candidate, ...]:
    """The next batch; empty at the end."""
    try:
        return run.send(judged)
    except StopIteration:
        return ()


def _seconds(tried: Sequence[CandidateResult]) -> dict[str, float]:
    """What was spent on all that were evaluated now, by stage."""
    spent = defaultdict[str, float](float)
    for each in tried:
        for stage, seconds in () if each.known else each.evaluation.seconds.items():
            spent[stage] += seconds
    return {stage: round(seconds, 3) for stage, seconds in spent.items()}


def _tried(after: Evaluation, before: Evaluation | None) -> CandidateResult:
    known = before is not None and before.evaluation_id == after.evaluation_id
    return CandidateResult(after.variant_id, after, known)


def _judged(tried: CandidateResult | None) -> Judged:
    if tried is None:
        return Judged(None, 0)
    return Judged(tried.evaluation.speedup, tried.builds)
