"""What a search says of itself: its record, its steps, its questions and its end."""

from __future__ import annotations

from collections import Counter

from pydantic import Field

from ...runners.model import Ending, Record
from ..drivers.settings import PlannerSettings
from ..engine.work import Evaluate, Ledger, Outcome, search_best
from ..graph.graph import Graph
from ..planning.planner import Question
from ..planning.planners import PlannerName
from ..settings import Settings
from .variants import changed


class SearchProfile(Record):
    """A profile of the incumbent, made by the search."""

    step: int
    """evaluations before it"""
    variant_id: str
    bottleneck: str = ""
    """its class, with numbers"""
    findings: tuple[str, ...] = ()
    """ids of the rules that fired, the one to act on first"""
    failed: str = ""
    """why there is no profile"""


class Learned(Record):
    """What of earlier searches one knows: what there was when it began. Empty: nothing."""

    transitions: str = ""
    """the last row of the store's transitions that counts"""
    memory: str = ""
    """the last row of the kernel's memory that counts"""
    imports: tuple[str, ...] = ()
    """digests of imported ReGraphs"""
    labels: str = ""
    """the last word on a method's name that counts"""
    regraph: str = ""
    """digest of all of that as a ReGraph; empty: none was used"""


class SearchRecord(Record):
    """A search as the store keeps it; the graph lies in the tables nodes and edges."""

    search_id: str
    kernel_id: str
    planner: PlannerName
    settings: Settings
    started_at: str
    stopped: str | None = None
    """reason of the stop verdict: budget, money, patience, exhausted or headroom"""
    stopped_text: str = ""
    planning: PlannerSettings | None = None
    """of the driver that answers its planner's questions; None: rules, or a client"""
    profiles: tuple[SearchProfile, ...] = ()
    """made as `settings.ncu_every` says; one that failed ends them"""
    learned: Learned = Learned()


class StepReport(Record):
    """One step of a search: what was tried and how it ended."""

    search_id: str
    step: int
    parent: str
    variant_id: str | None
    """None when the candidate gave no variant: a diff that does not apply, a bad value"""
    method: str
    detail: str
    changed: str
    """what the candidate changed, in words: `TILE=32`, `source`, `flags`"""
    ending: Ending
    message: str
    speedup: float | None
    """over the baseline"""
    interval: tuple[float, float] | None
    became_incumbent: bool
    """it took the place of the kernel's incumbent"""
    duplicate: bool
    """the variant was known to this search: nothing was built or run"""
    builds: int
    budget: int
    speedup_over_parent: float | None = None
    """what the step gained: over the variant that it started from"""
    profile: SearchProfile | None = None
    """of the incumbent, where one was due after this step"""
    touches_hot_region: str | None = None
    """`yes: R7 (62 % of samples): its instructions are others`: whether it changed the region that
    the profile of its parent blames; None: there is no profile, or it was not built"""


def step_report(
    record: SearchRecord,
    ledger: Ledger,
    work: Evaluate,
    outcome: Outcome,
    gain: float | None,
    touched: str | None,
) -> StepReport:
    """The step of a search that ended so; `ledger` is the one with it. `gain`: log2 over its
    parent. `touched`: see `touches_hot_region`."""
    return StepReport(
        search_id=record.search_id,
        step=ledger.steps,
        parent=work.parent,
        variant_id=outcome.variant_id,
        method=work.candidate.method,
        detail=work.candidate.detail,
        changed=changed(work.candidate),
        ending=outcome.ending,
        message=outcome.message,
        speedup=outcome.speedup,
        interval=outcome.interval,
        became_incumbent=outcome.became_incumbent,
        duplicate=outcome.duplicate_of_known,
        builds=ledger.builds,
        budget=record.settings.budget_builds,
        speedup_over_parent=None if gain is None else 2.0**gain,
        touches_hot_region=touched,
    )


class NeedsCandidates(Record):
    """The search waits for candidates: answer with the ticket."""

    search_id: str
    ticket: str
    question: Question


class SearchStopped(Record):
    """The stop verdict."""

    search_id: str
    reason: str
    text: str


class SearchStatus(Record):
    """Where a search stands."""

    search_id: str
    kernel_id: str
    builds: int
    budget: int
    evaluations: int
    start: str
    """the variant that it started from"""
    start_speedup: float
    best: str
    """the search's best (`search_best`), which need not be the kernel's: that is the incumbent"""
    best_speedup: float
    """over the baseline, as is `start_speedup`"""
    best_interval: tuple[float, float] | None
    endings: dict[str, int] = Field(default_factory=dict[str, int])
    """how many variants ended how"""
    stopped: str | None = None
    stopped_text: str = ""


def status_of(record: SearchRecord, graph: Graph, ledger: Ledger) -> SearchStatus:
    """Where a search with this graph stands; `ledger` is the graph's."""
    best = search_best(graph, ledger)
    endings = Counter({ending.value: count for ending, count in graph.endings.items()})
    endings.subtract([graph.root.ending.value])
    return SearchStatus(
        search_id=record.search_id,
        kernel_id=record.kernel_id,
        builds=ledger.builds,
        budget=record.settings.budget_builds,
        evaluations=ledger.steps,
        start=graph.root_key,
        start_speedup=graph.root.speedup or 1.0,
        best=best.key,
        best_speedup=best.speedup or 1.0,
        best_interval=best.interval,
        endings={k: v for k, v in sorted(endings.items()) if v},
        stopped=record.stopped,
        stopped_text=record.stopped_text,
    )


class Ticket(Record):
    """A question that was put to a client."""

    search_id: str
    node_id: str
    answered: bool = False


def with_budget(record: SearchRecord, budget_builds: int) -> SearchRecord:
    """The search with another budget; the verdict `budget` no longer holds then."""
    settings = record.settings.model_copy(update={"budget_builds": budget_builds})
    changes: dict[str, object] = {"settings": settings}
    if record.stopped == "budget":
        changes |= {"stopped": None, "stopped_text": ""}
    return record.model_copy(update=changes)


def with_planning(record: SearchRecord, planning: PlannerSettings) -> SearchRecord:
    """The search with other settings of its driver; what may be spent is looked at anew."""
    changes: dict[str, object] = {"planning": planning}
    if record.stopped == "money":
        changes |= {"stopped": None, "stopped_text": ""}
    return record.model_copy(update=changes)
