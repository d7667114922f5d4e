"""The evaluation of a search's work: one variant, or the configurations of a candidate with knobs,
of which the best one counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..runners.devices import DeviceFacts
from ..runners.errors import SpecError
from ..runners.model import Candidate, Evaluation
from ..search.tuning import Batches, Judged, tune, tuning_of
from ..search.work import Evaluate
from .candidates import state_of, variant_from
from .evaluator import Evaluator
from .lanes import Several, Tried
from .records import KernelRecord, VariantRecord

AT_ONCE = 4
"""configurations that are built side by side where builds do not disturb what is timed; the sweep
learns from them together"""


@dataclass(frozen=True)
class Trying:
    """Evaluates candidates of one search, in any thread. `lanes`: devices that serve the kernel."""

    evaluator: Evaluator
    kernel: KernelRecord
    min_gain: float
    seed: int
    lanes: int

    def tried(self, work: Evaluate, lane: DeviceFacts | None) -> Tried | SpecError:
        """How it ended; the error where the candidate gives no variant."""
        parent = self.evaluator.variant(work.parent)
        try:
            if work.candidate.knobs is not None:
                return self._tuned(work, parent, lane)
            return self._together([self._record(work.candidate, parent)], lane)[0]
        except SpecError as error:
            return error

    def _tuned(self, work: Evaluate, parent: VariantRecord, lane: DeviceFacts | None) -> Tried:
        """The best configuration. Raises SpecError where none gives a variant."""
        run = tune(
            tuning_of(work.candidate, state_of(self.kernel, parent.variant)),
            builds=work.builds,
            at_once=AT_ONCE if self._side_by_side else 1,
            seed=self.seed,
        )
        tried, space = self._through(run, parent, lane)
        if not tried:
            raise SpecError("no configuration of its knobs gives a variant", valid="other values")
        return best_of(tried, space)

    @property
    def _side_by_side(self) -> bool:
        return self.lanes == 1 and self.kernel.spec.kernel.kernel_type != "cpp"

    def _through(
        self, run: Batches, parent: VariantRecord, lane: DeviceFacts | None
    ) -> tuple[list[tuple[str, Tried]], int]:
        """All that gave a variant, each with its detail, and how many configurations there were to
        choose from."""
        tried = list[tuple[str, Tried]]()
        try:
            batch = next(run)
            while True:
                records = [self._record_if_any(candidate, parent) for candidate in batch]
                found = iter(self._together([r for r in records if r is not None], lane))
                results = [None if r is None else next(found) for r in records]
                pairs = zip(batch, results, strict=True)
                tried += [(c.detail, each) for c, each in pairs if each is not None]
                batch = run.send([_judged(each) for each in results])
        except StopIteration as ended:
            return tried, ended.value

    def _together(self, records: Sequence[VariantRecord], lane: DeviceFacts | None) -> list[Tried]:
        """How each ended, in this order."""
        ids = [record.variant.variant_id for record in records]
        before = {each: self.evaluator.evaluation(each) for each in ids}
        if len(records) > 1 and self._side_by_side:
            found = list(self.evaluator.evaluate_all(records, self.min_gain))
        else:
            found = [self.evaluator.evaluate(record, self.min_gain, lane) for record in records]
        after = {evaluation.variant_id: evaluation for evaluation in found}
        return [_tried(after[each], before[each]) for each in ids]

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


def best_of(tried: Sequence[tuple[str, Tried]], space: int) -> Tried:
    """The configuration that became the incumbent last, else the one whose interval begins highest,
    so that noise is not chosen, else the first that failed; with what all of them cost. Each comes
    with its detail. `space`: how many there were to choose from."""
    incumbents = [
        each for each in tried if each[1].evaluation.became_incumbent and not each[1].known
    ]
    measured = [each for each in tried if each[1].evaluation.speedup is not None]
    if incumbents:
        detail, best = incumbents[-1]
    elif measured:
        detail, best = max(measured, key=lambda each: _surely(each[1].evaluation))
    else:
        detail, best = tried[0]
    every = [each for _, each in tried]
    endings = Counter(str(t.evaluation.ending) for t in every if not t.evaluation.ending.measured)
    failed = "".join(f", {count} {ending}" for ending, count in sorted(endings.items()))
    said = f"{detail}, the best of {len(tried)} tried of {space} configurations{failed}"
    return replace(best, several=Several(sum(t.builds for t in every), said, _seconds(every)))


def _surely(evaluation: Evaluation) -> float:
    """The speedup that it has at least."""
    return (evaluation.speedup or 0.0) if evaluation.interval is None else evaluation.interval[0]


def _seconds(tried: Sequence[Tried]) -> dict[str, float]:
    """What was spent on all that were evaluated now, by stage."""
    spent = defaultdict[str, float](float)
    for each in tried:
        for stage, seconds in () if each.known else each.evaluation.seconds.items():
            spent[stage] += seconds
    return {stage: round(seconds, 3) for stage, seconds in spent.items()}


def _tried(after: Evaluation, before: Evaluation | None) -> Tried:
    known = before is not None and before.evaluation_id == after.evaluation_id
    return Tried(after.variant_id, after, known)


def _judged(tried: Tried | None) -> Judged:
    if tried is None:
        return Judged(None, 0)
    return Judged(tried.evaluation.speedup, tried.builds)
