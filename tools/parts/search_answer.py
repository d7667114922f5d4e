"""What `search_step` answers: the steps, the question, where the search stands, what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...runners.model import Ending, Record
from ...runners.wording import cut, significant

if TYPE_CHECKING:
    from ...search.planning.planner import Question, Tried
    from ...search.session.session import SearchSession
    from ...search.stored.records import NeedsCandidates, SearchStatus, SearchStopped, StepReport

LONGEST_SOURCE = 3000
LISTED = 12


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


def step_of(report: StepReport) -> Step:
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


def told(
    session: SearchSession,
    steps: list[Step],
    end: NeedsCandidates | SearchStopped | None,
    notes: tuple[str, ...],
) -> Searched:
    from ...search.stored.records import NeedsCandidates, SearchStopped

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
    from ...search.stored.records import NeedsCandidates

    search = f'"search_id": "{status.search_id}"'
    if isinstance(end, NeedsCandidates):
        return f'search_step {{{search}, "ticket": "{end.ticket}", "candidates": [...]}}'
    if end is None:
        return f"search_step {{{search}}} goes on"
    if status.best_speedup > 1:
        return f'export_variant {{"variant_id": "{status.incumbent}"}} writes the winner back'
    return "nothing faster was found; write a candidate by hand, or search with planner client"
