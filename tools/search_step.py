"""The verb `search_step`: start a search, advance it, answer its question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from ..runners.model import Candidate, Ending, Record
from ..search.planners import PlannerName
from ..search.settings import Settings
from . import progress
from .base import Tool, WorkArguments
from .describing import cut, significant

if TYPE_CHECKING:
    from ..search.planner import Question, Tried
    from .search_records import NeedsCandidates, SearchStatus, SearchStopped, StepReport
    from .search_session import SearchSession
    from .workbench import Workbench

LONGEST_SOURCE = 3000
LISTED = 12


class SearchStepArguments(WorkArguments):
    """Which search, how far, and the answer to its question if it asked one."""

    kernel_id: str | None = None
    """starts a new search from the kernel's baseline"""
    search_id: str | None = None
    """goes on with a search"""
    planner: PlannerName | None = None
    """of a new search: rules (default; asks nobody) or client (asks you for candidates)"""
    settings: Settings | None = None
    """of a new search; what is left out has its default"""
    steps: int = Field(default=5, ge=1, le=100)
    """evaluations at most in this call, 1 to 100"""
    ticket: str | None = None
    """the question that candidates answer"""
    candidates: tuple[Candidate, ...] | None = Field(default=None, max_length=32)
    """with a ticket: what to evaluate; an empty list means that there is nothing more to try"""

    @model_validator(mode="after")
    def _one_search(self) -> SearchStepArguments:
        if (self.kernel_id is None) == (self.search_id is None):
            raise ValueError("give kernel_id to start a search, or search_id to go on with one")
        if self.search_id is not None and (self.planner or self.settings):
            raise ValueError("planner and settings are given when a search starts (kernel_id)")
        if (self.ticket is None) != (self.candidates is None):
            raise ValueError("ticket and candidates are given together")
        if self.ticket is not None and self.search_id is None:
            raise ValueError("a ticket is answered with its search_id")
        return self


class Step(Record):
    """One step: what was tried and how it ended."""

    step: int
    variant_id: str | None = None
    parent: str
    method: str
    changed: str
    detail: str
    ending: Ending
    speedup: float | None = None
    interval: tuple[float, float] | None = None
    became_incumbent: bool = False
    duplicate: bool = False
    message: str


class TriedBefore(Record):
    """A candidate that was proposed from the node before."""

    method: str
    detail: str
    ending: Ending | None = None
    speedup: float | None = None


class Needed(Record):
    """The question: candidates that start from one variant. Answer with the ticket."""

    ticket: str
    variant_id: str
    speedup: float | None = None
    failed: str | None = None
    """why this variant failed: a repair is asked for"""
    parameters: dict[str, int]
    options: dict[str, Any]
    source: str | None = None
    """left out when it is long: inspect variant, part source"""
    source_lines: int
    tried: tuple[TriedBefore, ...] = ()
    headroom: str
    bottleneck: str | None = None
    """what bounds this variant, where the search has profiled it (settings.ncu_every)"""
    findings: tuple[str, ...] = ()
    """rules that fired on that profile, the one to act on first; ncu_summary has all of it"""
    wanted: int
    remembered: tuple[str, ...] = ()
    """what earlier searches of the kernel tried from this variant, and what failed from others"""


class Verdict(Record):
    """The stop verdict."""

    reason: str
    text: str


class Standing(Record):
    """Where the search stands."""

    builds: int
    budget: int
    evaluations: int
    incumbent: str
    best_speedup: float
    interval: tuple[float, float] | None = None
    endings: dict[str, int]


class Searched(Record):
    """What this call brought."""

    search_id: str
    kernel_id: str
    steps: tuple[Step, ...]
    """the last 12 of this call"""
    left_out: int = 0
    """earlier steps of this call; inspect search, part history has them all"""
    needs_candidates: Needed | None = None
    stopped: Verdict | None = None
    status: Standing
    notes: tuple[str, ...] = ()
    """on candidates that were dropped"""
    next: str


def search_step(bench: Workbench, arguments: SearchStepArguments) -> Searched:
    """Start a search, advance it by some evaluations, or answer its question.

    Planner `rules` tunes parameters, constants and flags by itself. Planner `client` asks you:
    the reply holds needs_candidates with a ticket; answer with search_id, ticket and candidates
    (method with any of diff, source, plan, parameters, options), and they are evaluated. A search
    keeps account of all that was tried, and stops by budget, patience or when nothing is left.
    Takes 1 to 20 s an evaluation; more than wait_s becomes a job. For one candidate without a
    search use compile_variant and time_variant.
    Example: {"kernel_id": "softmax-1a2b3c4d", "planner": "rules", "steps": 5}
    """
    session = _session(bench, arguments)
    left = arguments.steps
    going_on = SearchStepArguments(search_id=session.search_id, steps=left)
    notes: tuple[str, ...] = ()
    with bench.sessions.lent(session):
        if arguments.ticket is not None:
            notes = session.answer(arguments.ticket, arguments.candidates or ())
        progress.checkpoint(going_on)
        steps, end = _advance(bench, session, left)
        return _told(session, steps, end, notes)


def _session(bench: Workbench, arguments: SearchStepArguments) -> SearchSession:
    from .search_session import SearchSession

    if arguments.search_id is not None:
        return bench.sessions.resume(bench, arguments.search_id)
    return SearchSession.start(
        bench,
        arguments.kernel_id or "",
        arguments.settings or Settings(),
        arguments.planner or "rules",
    )


def _advance(
    bench: Workbench, session: SearchSession, steps: int
) -> tuple[list[Step], NeedsCandidates | SearchStopped | None]:
    """Step until so many evaluations are made, a question or the stop verdict comes, or the
    job is cancelled."""
    from .exports import Exports
    from .search_records import StepReport

    exports, kernel_id = Exports(bench.store, bench.outdir), session.record.kernel_id
    made = list[Step]()
    while len(made) < steps and not progress.cancelled():
        report = session.step(more=steps - len(made) - 1)
        if not isinstance(report, StepReport):
            exports.write(kernel_id, session.search_id)
            return made, report
        exports.append(kernel_id, "step", report.model_dump(mode="json"))
        exports.write_if_due(kernel_id, session.search_id)
        made.append(_step(report))
        progress.found(f"step {len(made)} of {steps}: {report.changed}: {report.ending}")
        progress.checkpoint(
            SearchStepArguments(search_id=session.search_id, steps=max(1, steps - len(made)))
        )
    return made, None


def _step(report: StepReport) -> Step:
    return Step(
        step=report.step,
        variant_id=report.variant_id,
        parent=report.parent,
        method=report.method,
        changed=cut(report.changed, 120),
        detail=cut(report.detail, 120),
        ending=report.ending,
        speedup=None if report.speedup is None else significant(report.speedup),
        interval=_rounded(report.interval),
        became_incumbent=report.became_incumbent,
        duplicate=report.duplicate,
        message=cut(report.message, 400),
    )


def _rounded(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (significant(interval[0]), significant(interval[1]))


def _told(
    session: SearchSession,
    steps: list[Step],
    end: NeedsCandidates | SearchStopped | None,
    notes: tuple[str, ...],
) -> Searched:
    from .search_records import NeedsCandidates, SearchStopped

    status = session.status()
    return Searched(
        search_id=session.search_id,
        kernel_id=session.record.kernel_id,
        steps=tuple(steps[-LISTED:]),
        left_out=max(0, len(steps) - LISTED),
        needs_candidates=_needed(end) if isinstance(end, NeedsCandidates) else None,
        stopped=Verdict(reason=end.reason, text=end.text)
        if isinstance(end, SearchStopped)
        else None,
        status=_standing(status),
        notes=notes[:10],
        next=_next(end, status),
    )


def _needed(needed: NeedsCandidates) -> Needed:
    question: Question = needed.question
    short = len(question.source) <= LONGEST_SOURCE
    return Needed(
        ticket=needed.ticket,
        variant_id=question.variant_id,
        speedup=None if question.speedup is None else significant(question.speedup),
        failed=cut(question.message, 1500) or None,
        parameters=question.parameters,
        options=question.options.model_dump(mode="json", exclude_none=True),
        source=question.source if short else None,
        source_lines=len(question.source.splitlines()),
        tried=tuple(_tried(t) for t in question.tried[-LISTED:]),
        headroom=question.headroom,
        bottleneck=question.bottleneck or None,
        findings=question.findings,
        wanted=question.wanted,
        remembered=tuple(cut(idea.describe(), 160) for idea in question.remembered),
    )


def _tried(tried: Tried) -> TriedBefore:
    return TriedBefore(
        method=tried.method,
        detail=cut(tried.detail, 120),
        ending=tried.ending,
        speedup=None if tried.speedup is None else significant(tried.speedup),
    )


def _standing(status: SearchStatus) -> Standing:
    return Standing(
        builds=status.builds,
        budget=status.budget,
        evaluations=status.evaluations,
        incumbent=status.incumbent,
        best_speedup=significant(status.best_speedup),
        interval=_rounded(status.interval),
        endings=status.endings,
    )


def _next(end: NeedsCandidates | SearchStopped | None, status: SearchStatus) -> str:
    from .search_records import NeedsCandidates

    search = f'"search_id": "{status.search_id}"'
    if isinstance(end, NeedsCandidates):
        return f'search_step {{{search}, "ticket": "{end.ticket}", "candidates": [...]}}'
    if end is None:
        return f"search_step {{{search}}} goes on"
    if status.best_speedup > 1:
        return f'export_variant {{"variant_id": "{status.incumbent}"}} writes the winner back'
    return "nothing faster was found; write a candidate by hand, or search with planner client"


TOOL = Tool(
    name="search_step",
    title="Advance a search",
    run=search_step,
    arguments=SearchStepArguments,
    result=Searched,
    read_only=False,
    idempotent=False,
    work=True,
)
