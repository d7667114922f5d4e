"""The headless run: one or several specs searched to their stop verdict, told as events.

Nothing is printed here; whoever drives the generator shows what it yields. Ending it early
(an exception in its consumer or a signal) ends the children and brings the files up to date.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...analysis.roofline import reaches, summary
from ...analysis.worth import Worth
from ...evaluation.bench import Bench
from ...evaluation.evidence.built_facts import built_facts
from ...evaluation.evidence.headroom import peaks_for
from ...evaluation.rig.preflight import preflight
from ...runners.errors import BudgetSpent, KernelwrightError, ProcessLost
from ...runners.loading.files import LoadedKernel, load_path
from ...runners.progress import found
from ...store.kernels import is_kernel
from ...store.records import Confirmation, KernelRecord
from ..applying.sent import SentCandidate
from ..drivers.settings import PlannerSettings
from ..outdir.kernel_files import KernelFiles
from ..outdir.overview import searches
from ..planning.planners import PlannerName
from ..settings import Settings
from ..stored.records import (
    NeedsCandidates,
    SearchRecord,
    SearchStopped,
)
from .exchanges import costs_of
from .inputs.ordering import check_weights, worth_of
from .inputs.spec_files import refused_ahead
from .run_events import (
    Answered,
    Began,
    Confirming,
    Event,
    Failed,
    Finished,
    Opened,
    Opening,
    Turn,
)
from .session import SearchSession
from .telling import tell, tell_answer

MOST_CONFIRMATIONS = 3


class Answering(Protocol):
    """Answers the questions of a headless run's searches in place of a client."""

    @property
    def planner(self) -> PlannerName:
        """What its searches are called by."""
        ...

    @property
    def settings(self) -> PlannerSettings:
        """Those that its searches keep."""
        ...

    def answer(self, session: SearchSession, needed: NeedsCandidates) -> tuple[SentCandidate, ...]:
        """Candidates for a question. Raises PlannerFailed, and BudgetSpent before a call that
        could cost too much."""
        ...

    def afterwards(self, session: SearchSession) -> None:
        """Make what a search that has stopped has taught of more use to later ones."""
        ...


def optimize(
    bench: Bench,
    specs: Sequence[Path | LoadedKernel],
    settings: Settings,
    *,
    resume: bool = False,
    new_budget: int | None = None,
    answering: Answering | None = None,
    weights: Mapping[str, float] | None = None,
) -> Generator[Event]:
    """Search each spec until it stops, confirm its winner and write its files.

    Several specs are opened first, all of them, and then searched in order of their worth, the
    largest first (`analysis/worth.py`); `weights`: by name, over those of the specs. Raises
    SpecError where one is of no kernel of the run.

    `resume`: an unfinished search of the kernel goes on with its own settings, and a finished
    one is reported again; `new_budget` replaces its budget, with which one that had spent the
    old budget goes on. `answering`: who plans; None: rules alone. A spec that fails is yielded as
    `Failed`, also when nobody answers; of several, those that reading alone refuses come first.
    """
    check_weights(weights or {}, specs)
    run = _Run(bench, KernelFiles(bench.store, bench.outdir), new_budget, answering)
    refused = refused_ahead(specs, bench.roots) if len(specs) > 1 else {}
    yield from (Failed(path, error) for path, error in refused.items())
    opened = list[_Open]()
    try:
        for spec in specs:
            if isinstance(spec, Path) and spec in refused:
                continue
            path = Path(spec.source_name) if isinstance(spec, LoadedKernel) else spec
            yield Opening(path)
            try:
                loaded = spec if isinstance(spec, LoadedKernel) else load_path(spec, bench.roots)
                kernel = yield from run.open(loaded, settings)
                opened.append(_Open(path, kernel, loaded))
            except KernelwrightError as error:
                yield Failed(path, error)
        yield from run.search_all(opened, settings, resume, weights or {})
    except BaseException:
        bench.evaluator.close()
        raise


def last_search(
    bench: Bench, kernel_id: str, planner: PlannerName = "rules"
) -> SearchRecord | None:
    """The newest search of a kernel that a headless run with this planner can go on with."""
    found = [each for each in searches(bench.store, kernel_id) if each.planner == planner]
    return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class _Open:
    """A kernel that waits for its search."""

    path: Path
    kernel: KernelRecord
    loaded: LoadedKernel


@dataclass(frozen=True)
class _Run:
    """What every kernel of one headless run shares."""

    bench: Bench
    files: KernelFiles
    new_budget: int | None
    answering: Answering | None = None

    def open(
        self, loaded: LoadedKernel, settings: Settings
    ) -> Generator[Event, None, KernelRecord]:
        """Build, check and time one kernel's baseline, unless it is known."""
        bench = self.bench
        for line in preflight(bench.gpus, loaded, settings.busy_gpu):
            found(line)
        known = is_kernel(bench.store, loaded.kernel_id)
        kernel = bench.evaluator.open(loaded)
        yield Opened(kernel, known, built_facts(bench, kernel))
        return kernel

    def search_all(
        self,
        opened: Sequence[_Open],
        settings: Settings,
        resume: bool,
        weights: Mapping[str, float],
    ) -> Iterator[Event]:
        """Open kernels one after the other, of several the one worth most first."""
        for each, worth in self._turns(opened, weights):
            if worth is not None:
                yield Turn(each.kernel, worth)
            try:
                yield from self.search(each.kernel, settings, resume)
            except KernelwrightError as error:
                yield Failed(each.path, error)

    def _turns(
        self, opened: Sequence[_Open], weights: Mapping[str, float]
    ) -> list[tuple[_Open, Worth | None]]:
        """In their order; a single one has no worth."""
        if len(opened) < 2:
            return [(each, None) for each in opened]
        worths = [worth_of(self.bench, each.kernel, each.loaded, weights) for each in opened]
        order = sorted(range(len(opened)), key=lambda n: -worths[n].score)
        return [(opened[n], worths[n]) for n in order]

    def search(self, kernel: KernelRecord, settings: Settings, resume: bool) -> Iterator[Event]:
        """One kernel from its search's start to its result."""
        kernel_id, answering = kernel.kernel_id, self.answering
        planner = "rules" if answering is None else answering.planner
        planning = None if answering is None else answering.settings
        known = last_search(self.bench, kernel_id, planner) if resume else None
        with suppress(KernelwrightError):  # `_reaches` tells; a search goes on without
            peaks_for(self.bench, kernel)  # priors and headroom rest on it
        if known is None:
            session = SearchSession.start(
                self.bench, kernel_id, settings, planner, planning=planning
            )
        else:
            session = SearchSession.resume(
                self.bench, known.search_id, budget_builds=self.new_budget, planning=planning
            )
        search_id = session.search_id
        try:
            yield Began(session.record, known is not None, resume and known is None)
            if session.record.stopped is None:
                yield from self._steps(session)
                if self.answering is not None:
                    self.answering.afterwards(session)
            confirmation = yield from self._confirm(kernel_id, session.record.settings.min_gain)
            kernel = self.bench.evaluator.kernel(kernel_id)
            self._list_code(kernel)
            reaches = self._reaches(kernel, confirmation)
        except BaseException as error:
            if not isinstance(error, KernelwrightError):
                self.bench.evaluator.close()  # children first: the files take a moment
            session.close()
            self.files.write(kernel_id, search_id)
            raise
        session.close()
        folder = self.files.write(kernel_id, search_id)
        yield Finished(kernel, session.status(), confirmation, folder, reaches)

    def _steps(self, session: SearchSession) -> Iterator[Event]:
        kernel_id = session.record.kernel_id
        more = session.record.settings.budget_builds  # it stops itself
        answered = ""
        while not isinstance(report := session.step(more), SearchStopped):
            tell(self.files, session, report)
            if isinstance(report, NeedsCandidates):
                again, answered = report.ticket == answered, report.ticket
                answer = self._answer(session, report, again=again)
                if isinstance(answer, SearchStopped):
                    report = answer
                    break
                yield answer
                continue
            self.files.write_if_due(kernel_id, session.search_id)
            yield report
        tell(self.files, session, report)

    def _answer(
        self, session: SearchSession, needed: NeedsCandidates, *, again: bool
    ) -> Answered | SearchStopped:
        """Have a question answered; the stop verdict where that could cost too much. `again`: its
        answer brought nothing new, and whoever repeats themselves has nothing more to give."""
        if self.answering is None:
            raise TypeError(f"the planner `{session.record.planner}` cannot ask anybody here")
        try:
            candidates = () if again else self.answering.answer(session, needed)
        except BudgetSpent as error:
            return session.stop("money", f"{error.message}; {error.next_step}")
        notes = session.answer(needed.ticket, candidates)
        spent = costs_of(self.bench.store, session.search_id).all
        costs = {"calls": spent.calls, "tokens": spent.usage.total, "usd": str(spent.usd)}
        tell_answer(self.files, session, needed.ticket, len(candidates), notes, **costs)
        return Answered(len(candidates), spent, notes)

    def _confirm(
        self, kernel_id: str, min_gain: float
    ) -> Generator[Event, None, Confirmation | None]:
        """The confirmation of the kernel's incumbent, made now unless it is known.

        One that is refused gives way to the next best, a few times; the last refusal otherwise.
        """
        evaluator, found = self.bench.evaluator, None
        for _ in range(MOST_CONFIRMATIONS):
            kernel = evaluator.kernel(kernel_id)
            if kernel.incumbent == kernel.baseline:
                if found is None or not evaluator.succeed(kernel_id, min_gain):
                    break
                kernel = evaluator.kernel(kernel_id)
            found = evaluator.confirmation(kernel.incumbent)
            if found is None:
                yield Confirming(kernel, kernel.incumbent)
                found = evaluator.confirm(kernel.incumbent)
                facts = found.model_dump(mode="json", exclude={"gates"})
                self.files.append(kernel_id, "confirmed", facts)
            if found.accepted:
                break
        return found

    def _list_code(self, kernel: KernelRecord) -> None:
        """SASS of baseline and best, for their files."""
        try:
            for each in dict.fromkeys((kernel.baseline, kernel.incumbent)):
                self.bench.evaluator.list_code(each)
        except ProcessLost as error:
            self.files.append(kernel.kernel_id, "no listing", {"why": str(error)})

    def _reaches(self, kernel: KernelRecord, confirmation: Confirmation | None) -> str:
        try:
            peaks = peaks_for(self.bench, kernel)
        except KernelwrightError as error:
            return f"an unknown share of the machine ({error.message})"
        times = best_times(kernel, confirmation)
        return reaches(summary(kernel.loaded.spec, peaks, times))


def best_times(kernel: KernelRecord, confirmation: Confirmation | None) -> dict[str, float]:
    """Milliseconds by visible workload of the confirmed winner, else of the baseline."""
    if confirmation is None or confirmation.visible is None or not confirmation.accepted:
        return kernel.baseline_ms
    workloads = confirmation.visible.workloads
    return {w.workload: w.median_ms[confirmation.variant_id] for w in workloads}
