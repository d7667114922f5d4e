"""What `search_step` answers: the steps, the question, where the search stands, what comes next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ...runners.model import Ending, Record
from ...runners.wording import cut, significant
from .calls import call
from .kernel_best import KernelBest, kernel_best

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...search.planning.brief import Brief
    from ...search.planning.planner import Question, Tried
    from ...search.session.session import SearchSession
    from ...search.stored.records import NeedsCandidates, SearchStatus, SearchStopped, StepReport

LONGEST_SOURCE = 3000
LISTED = 12
BRIEF_CHARS = 8000
"""of the brief's sections in a reply: with all else it stays below what clients cut"""
FIELDS = frozenset({"rewrite", "source", "tried", "remembered"})
"""sections of the brief that the reply has fields for"""


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
    """over the baseline"""
    interval: tuple[float, float] | None = None
    speedup_over_parent: float | None = None
    """what this step gained"""
    became_incumbent: bool = False
    """it took the place of the kernel's incumbent"""
    duplicate: bool = False
    touches_hot_region: str | None = None
    """whether it changed what the parent's profile blames; null: no profile, or not built"""
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
    brief: str | None = None
    """what else is known of the variant: how it came about, what bounds it, what paid elsewhere"""
    brief_more: dict[str, int] = Field(default_factory=dict[str, int])
    """sections of the brief that are not told here, with their tokens: inspect variant, part
    brief_sections"""


class Verdict(Record):
    """The stop verdict."""

    reason: str
    text: str


class Standing(Record):
    """Where the search stands."""

    builds: int
    budget: int
    evaluations: int
    start: str
    """the variant that it started from"""
    start_speedup: float
    best: str
    """the search's best; the kernel's is the incumbent"""
    best_speedup: float
    """over the baseline"""
    best_interval: tuple[float, float] | None = None
    endings: dict[str, int]


class Searched(Record):
    """What this call brought."""

    search_id: str
    kernel_id: str
    steps: tuple[Step, ...]
    """the last 12 of this call"""
    left_out: int = 0
    """earlier steps of this call; inspect search, part history has them all"""
    known: int = 0
    """steps of this call that led to a variant evaluated before: neither counted nor listed"""
    waiting: tuple[str, ...] = ()
    """candidates of yours that were not evaluated yet, the next 12; going on evaluates them"""
    needs_candidates: Needed | None = None
    stopped: Verdict | None = None
    status: Standing
    incumbent: str
    """the kernel's best, by paired comparison, whoever found it"""
    incumbent_speedup: float
    """over the baseline"""
    notes: tuple[str, ...] = ()
    """on candidates: which of diff and source was used, what was dropped"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


@dataclass
class Made:
    """What one call, or the job that it became, brought so far: also in earlier processes."""

    steps: list[Step] = field(default_factory=list[Step])
    left_out: int = 0
    """before these"""
    known: int = 0
    """beside these: they led to what was evaluated before"""
    notes: tuple[str, ...] = ()

    @classmethod
    def after(cls, earlier: Searched | None) -> Made:
        """What goes on from what an earlier process had."""
        if earlier is None:
            return cls()
        return cls(list(earlier.steps), earlier.left_out, earlier.known, earlier.notes)

    def add(self, report: StepReport, *, asked_for: bool) -> bool:
        """Whether it is one step more; those that are too many to be told are counted.

        What led to a variant that was evaluated before took no time and tells nothing new: it is
        a step only where the client `asked_for` it.
        """
        if report.duplicate and not asked_for:
            self.known += 1
            return False
        self.steps.append(step_of(report))
        self.left_out += max(0, len(self.steps) - LISTED)
        del self.steps[:-LISTED]
        return True


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
        speedup_over_parent=None
        if report.speedup_over_parent is None
        else significant(report.speedup_over_parent),
        became_incumbent=report.became_incumbent,
        duplicate=report.duplicate,
        touches_hot_region=report.touches_hot_region,
        message=cut(report.message, 400),
    )


def _rounded(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (significant(interval[0]), significant(interval[1]))


def told(
    bench: Bench,
    session: SearchSession,
    made: Made,
    end: NeedsCandidates | SearchStopped | None,
    brief: Brief | None = None,
) -> Searched:
    """`brief`: of the variant that a question is about."""
    from ...search.stored.records import NeedsCandidates, SearchStopped

    status = session.status()
    best = kernel_best(bench, status.kernel_id)
    return Searched(
        search_id=session.search_id,
        kernel_id=session.record.kernel_id,
        steps=tuple(made.steps),
        left_out=made.left_out,
        known=made.known,
        waiting=_waiting(session),
        needs_candidates=_needed(end, brief) if isinstance(end, NeedsCandidates) else None,
        stopped=Verdict(reason=end.reason, text=end.text)
        if isinstance(end, SearchStopped)
        else None,
        status=_standing(status),
        incumbent=best.incumbent,
        incumbent_speedup=best.speedup,
        notes=made.notes[:10],
        advice=_advice(end, status, best),
        next=_next(end, status, best),
    )


def _waiting(session: SearchSession) -> tuple[str, ...]:
    """Candidates that a client sent: those that rules write come again by themselves."""
    from ...search.stored.variants import changed

    if session.record.planner != "client":
        return ()
    told = session.waiting()[:LISTED]
    return tuple(cut(f"{c.method}: {c.detail or changed(c)}", 120) for c in told)


def _needed(needed: NeedsCandidates, brief: Brief | None) -> Needed:
    question: Question = needed.question
    beside, more = ("", {}) if brief is None else _in_reply(brief)
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
        brief=beside or None,
        brief_more=more,
    )


def _in_reply(brief: Brief) -> tuple[str, dict[str, int]]:
    """Whole sections on the variant, as many as a reply has room for, and the tokens of the others.
    What is stable a client reads once, by `inspect`."""
    told, more, room = list[str](), dict[str, int](), BRIEF_CHARS
    for section in brief.sections:
        text = section.markdown()
        if section.name in FIELDS:
            continue
        if section.same_for == "kernel" or len(text) > room:
            more[section.name] = section.tokens
            continue
        room -= len(text)
        told.append(text)
    return "\n".join(told), more


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
        start=status.start,
        start_speedup=significant(status.start_speedup),
        best=status.best,
        best_speedup=significant(status.best_speedup),
        best_interval=_rounded(status.best_interval),
        endings=status.endings,
    )


def _advice(
    end: NeedsCandidates | SearchStopped | None, status: SearchStatus, kernel: KernelBest
) -> str:
    from ...search.stored.records import NeedsCandidates

    if isinstance(end, NeedsCandidates):
        own = call("search_step", search_id=status.search_id, ticket=end.ticket, candidates=[])
        return f"answer with your candidates in the list: {own}"
    if end is None and kernel.speedup > 1:
        return (
            "the search goes on with the first call; once the user is content, the second "
            "confirms the best and writes it to their file"
        )
    if end is None:
        return "the search goes on with the next call"
    if kernel.speedup > 1:
        return "the search is over; the kernel's best can be written back"
    return "nothing beat the baseline; write a candidate by hand, or search with planner client"


def _next(
    end: NeedsCandidates | SearchStopped | None, status: SearchStatus, kernel: KernelBest
) -> tuple[str, ...]:
    from ...search.stored.records import NeedsCandidates

    if isinstance(end, NeedsCandidates):
        start = end.question.variant_id
        return (
            call("propose_moves", kernel_id=status.kernel_id, variant_id=start),
            call("inspect", what="variant", id=start, part="source"),
        )
    best = (call("export_variant", variant_id=kernel.incumbent),) if kernel.speedup > 1 else ()
    if end is None:
        return (call("search_step", search_id=status.search_id), *best)
    if best:
        return best
    return (call("propose_moves", kernel_id=status.kernel_id),)
