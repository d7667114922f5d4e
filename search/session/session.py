"""A search over one kernel: the engine decides, the evaluator evaluates, the store remembers.

Everything a step found is committed in one transaction before the step returns. The
evaluation itself is on disk a moment earlier; a process killed in between finds it there
and does not pay for it again.

While one candidate is checked and timed, those that the engine may take next are built. Where
several GPUs serve the kernel, each has an evaluation in hand. Outcomes are recorded in the order
in which the engine gave the work: no decision depends on what ends first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from ...evaluation.bench import Bench
from ...evaluation.evidence.headroom import most_speedup
from ...evaluation.scheduling.build_ahead import builders
from ...runners.errors import SpecError
from ...runners.model import Candidate, Ending, Variant
from ...store.records import KernelRecord
from ...store.searches import put_search, require_search
from ..applying.sent import SentCandidate, settled
from ..drivers.settings import PlannerSettings
from ..engine.decisions import Decision
from ..engine.engine import Engine
from ..engine.work import Ask, Evaluate, Outcome, Stopped, Waiting
from ..graph.nodes import Node
from ..planning.planner import Context, Reply
from ..planning.planners import PLANNERS, PlannerName
from ..settings import Settings
from ..stored.commits import SearchCommits
from ..stored.experience import Experience
from ..stored.graph import no_collections, set_aside, take_back
from ..stored.hot_regions import HotRegions
from ..stored.records import (
    NeedsCandidates,
    SearchStatus,
    SearchStopped,
    StepReport,
    status_of,
    step_report,
)
from ..stored.search_lock import SearchLock
from ..stored.variants import named, variant_from
from .candidate_result import CandidateResult
from .candidate_runs import CandidateRuns
from .in_flight import InFlight
from .node_context import NodeContexts
from .profiling import is_due, profile_of
from .starting import Held, begun, taken_up
from .transitions import Came, keep_step

Step = StepReport | NeedsCandidates | SearchStopped


class SearchSession:
    """Drives one search: `start` makes a new one, `resume` continues one from the store.

    It holds its search from then on until `pause` or `close`; steps are made one at a time.
    """

    def __init__(self, bench: Bench, held: Held) -> None:
        """`held`: the search, begun or taken up."""
        record, graph = held.record, held.graph
        self._bench = bench
        self.record = record
        self._lock = held.lock
        self._commits = SearchCommits(bench.store, record.search_id, held.revision)
        self._set_aside = False
        self._experience = Experience(
            bench.store, record.kernel_id, record.learned, record.settings.regraph
        )
        self._begin_anew()
        graph.known_code.heeded = record.planner == "rules"
        self._engine = Engine(
            graph,
            record.settings,
            PLANNERS[record.planner],
            self._context,
            most_speedup(bench, self._kernel),
        )
        self._engine.log = self._decided = list[Decision]()

    def decisions(self) -> tuple[Decision, ...]:
        """What its engine decided since this was last asked."""
        found = tuple(d.model_copy(update={"search_id": self.search_id}) for d in self._decided)
        self._decided.clear()
        return found

    def go_on(self) -> bool:
        """Be as one that was just resumed, with the graph that is here; False where the store has
        another one by now, or something is under way. Raises SearchBusy."""
        self._lock.take()
        if not (self._engine.idle and self._commits.is_latest):
            return False
        self._begin_anew()
        return True

    def _begin_anew(self) -> None:
        """What others may have changed is looked up anew, and the time that a process may spend
        begins again."""
        record, evaluator = self.record, self._bench.evaluator
        self._kernel: KernelRecord = evaluator.kernel(record.kernel_id)
        self._began = time.monotonic()
        lanes = evaluator.lanes(record.kernel_id)
        self._in_flight = InFlight(lanes)
        least, seed = record.settings.min_gain, record.settings.seed
        self._runs = CandidateRuns(
            evaluator, self._kernel, least, seed, len(lanes), lambda: self._late
        )
        self._no_profiles = False
        self._contexts = NodeContexts(self._bench, self._kernel, self._experience)
        self._hot = HotRegions(self._bench, self._kernel)

    @property
    def edges(self) -> int:
        """How large the graph is."""
        return len(self._engine.graph.edges)

    @property
    def _on_gpu(self) -> bool:
        return self._kernel.loaded.spec.kernel.language.on_gpu

    @property
    def search_id(self) -> str:
        """The handle of the search."""
        return self.record.search_id

    @classmethod
    def start(
        cls,
        bench: Bench,
        kernel_id: str,
        settings: Settings,
        planner: PlannerName = "rules",
        start: str | None = None,
        planning: PlannerSettings | None = None,
    ) -> SearchSession:
        """A new search, from the kernel's baseline or the variant `start`. Raises HandleUnknown,
        DeviceMissing, and SpecError where `start` was not measured."""
        return cls(bench, begun(bench, kernel_id, settings, planner, start, planning))

    @classmethod
    def resume(
        cls,
        bench: Bench,
        search_id: str,
        *,
        budget_builds: int | None = None,
        planning: PlannerSettings | None = None,
    ) -> SearchSession:
        """A search from the store; what was in flight when its process ended is tried again.

        `budget_builds`: a new budget, with which a search that had spent its old one goes on.
        `planning`: new settings of its driver, with which one that stopped for money goes on.
        Raises HandleUnknown, and SearchBusy where somebody else has it under way.
        """
        require_search(bench.store, search_id)
        lock = SearchLock(bench.outdir, search_id)
        lock.take()
        try:
            with no_collections():
                session = cls(bench, taken_up(bench, lock, search_id, budget_builds, planning))
                session._set_aside = set_aside(session._engine.graph)
            return session
        except BaseException:
            lock.release()
            raise

    def step(self, more: int = 0) -> Step:
        """One evaluation, or the question, or the stop verdict; on disk when it returns.

        `more`: how many steps will be asked for after this one; so many evaluations at most are
        begun beside it.
        """
        end = self._begin(more + 1)
        if (first := self._in_flight.first()) is not None:
            work, tried = first
            return self._profiled(self._record(work, tried))
        match end:
            case Ask(node_id, question):
                return self._commits.ask(node_id, question, self._engine.changes())
            case Stopped(reason, text):
                return self.stop(reason, text)
            case _:
                raise RuntimeError(f"nothing to do and nothing under way: {end}")

    def pause(self) -> None:
        """Wait for what is under way; it is on disk as an evaluation, and not tried again. Until
        `go_on` the search is anybody's."""
        self._in_flight.close()
        self._lock.release()

    def close(self) -> None:
        """`pause`, for good."""
        self.pause()
        if self._set_aside:
            take_back()

    def answer(
        self, ticket: str, candidates: Sequence[Candidate | SentCandidate]
    ) -> tuple[str, ...]:
        """Take candidates for a ticket; notes on what was made of them, and what was dropped.

        Raises HandleUnknown for a ticket that is unknown, answered, or of another search.
        """
        known = self._commits.unanswered(ticket)
        base = self._bench.evaluator.variant(known.node_id).variant
        made, notes = settled(candidates, base.source)
        proposed = tuple(named(c) for c in made)
        away = self._hot.notes(known.node_id, proposed)
        changes = self._engine.answer(known.node_id, Reply(candidates=proposed))
        self._commits.answered(ticket, known, changes)
        return (*notes, *away, *changes.notes)

    def waiting(self) -> tuple[Candidate, ...]:
        """Candidates that were taken and not evaluated yet, the first proposed first."""
        return self._engine.waiting

    def status(self) -> SearchStatus:
        """Where the search stands."""
        return status_of(self.record, self._engine.graph, self._engine.ledger)

    def context(self, variant_id: str) -> Context:
        """What a planner sees of a variant of this search. Raises HandleUnknown."""
        return self._engine.context(self._engine.graph.node(variant_id))

    def _context(self, node: Node) -> Context:
        return self._contexts.context(node, self.record)

    def _profiled(self, report: StepReport) -> StepReport:
        """The report, with a profile of the incumbent where one is due; one that fails is told once
        and is the last that is tried here."""
        incumbent = self._engine.incumbent.key
        if self._no_profiles or not is_due(self.record, report.step, incumbent):
            return report
        found = profile_of(self._bench, incumbent, report.step)
        self._no_profiles = bool(found.failed)
        kept = tuple(each for each in self.record.profiles if not each.failed)
        self.record = self.record.model_copy(update={"profiles": (*kept, found)})
        self._contexts.forget(incumbent)
        self._hot.forget(incumbent)
        changes = self._engine.look_again(incumbent)
        with self._commits.commit(changes) as writer:
            put_search(writer, self.search_id, self.record)
        return report.model_copy(update={"profile": found})

    def stop(self, reason: str, text: str) -> SearchStopped:
        """End the search with a verdict; on disk when it returns."""
        stopped = {"stopped": reason, "stopped_text": text}
        self.record = self.record.model_copy(update=stopped)
        with self._commits.commit(self._engine.changes()) as writer:
            put_search(writer, self.search_id, self.record)
        return SearchStopped(search_id=self.search_id, reason=reason, text=text)

    @property
    def _late(self) -> bool:
        """Whether the time that this process may spend on the search is over."""
        limit = self.record.settings.budget_seconds
        return limit is not None and time.monotonic() - self._began > limit

    def _begin(self, most: int) -> Ask | Stopped | Waiting | None:
        """Begin evaluations, up to one a lane and `most`; what came instead of another one."""
        limit = self.record.settings.budget_seconds
        if self._late:
            return Stopped("budget", f"{limit:g} s are spent, the whole budget of time")
        while self._in_flight.free(most):
            work = self._engine.next_work()
            if not isinstance(work, Evaluate):
                return work
            self._decided += self._hot.foresee(work, self._engine.ledger.steps)
            self._in_flight.begin(work, partial(self._runs.run, work))
        self._build_ahead()
        return None

    def _build_ahead(self) -> None:
        """Have the likeliest candidates built, so that they need not be waited for."""
        if not self._on_gpu:
            return
        variants = list[Variant]()
        for parent, candidate in self._engine.likely_next(builders()):
            if candidate.knobs is not None:
                continue  # what it builds is decided as it is tuned
            base = self._bench.evaluator.variant(parent).variant
            with suppress(SpecError):  # the step that takes it will tell
                variants.append(variant_from(self._kernel, base, candidate))
        self._bench.evaluator.build_ahead(variants)

    def _record(self, work: Evaluate, tried: CandidateResult | SpecError) -> StepReport:
        if isinstance(tried, SpecError):
            outcome, evaluation = Outcome(Ending.rejected, message=str(tried)), None
        else:
            incumbent = self._bench.evaluator.kernel(self._kernel.kernel_id).incumbent
            known = self._engine.graph.of_variant(tried.variant_id)
            outcome = tried.outcome(known, incumbent)
            evaluation = tried.evaluation.model_copy(update={"seconds": dict(tried.seconds)})
        before = self._contexts.before(self._engine.graph.node(work.parent))
        touched = self._hot.touched(work.parent, outcome.variant_id)
        changes = self._engine.record(work.edge_id, outcome)
        yes = None if touched is None else touched.startswith("yes")
        came = Came(evaluation, self._reward(work.edge_id), yes)
        with self._commits.commit(changes) as writer:
            kept = keep_step(writer, self._kernel, self.search_id, work, before, outcome, came)
        return step_report(self.record, self._engine.ledger, work, outcome, kept.gain, touched)

    def _reward(self, edge_id: str) -> float | None:
        child = self._engine.graph.edge(edge_id).child
        return None if child is None else self._engine.graph.node(child).reward
