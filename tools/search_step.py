"""The verb `search_step`: start a search, advance it, answer its question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ..runners import progress
from ..runners.model import Candidate
from ..search.planning.planners import PlannerName
from ..search.settings import Settings
from .base import Tool, WorkArguments
from .parts.search_answer import Searched, Step, step_of, told

if TYPE_CHECKING:
    from ..search.session.session import SearchSession
    from ..search.session.workbench import Workbench
    from ..search.stored.records import NeedsCandidates, SearchStopped


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
        return told(session, steps, end, notes)


def _session(bench: Workbench, arguments: SearchStepArguments) -> SearchSession:
    from ..search.session.session import SearchSession

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
    from ..search.outdir.kernel_files import KernelFiles
    from ..search.stored.records import StepReport

    files, kernel_id = KernelFiles(bench.store, bench.outdir), session.record.kernel_id
    made = list[Step]()
    while len(made) < steps and not progress.cancelled():
        report = session.step(more=steps - len(made) - 1)
        if not isinstance(report, StepReport):
            files.write(kernel_id, session.search_id)
            return made, report
        files.append(kernel_id, "step", report.model_dump(mode="json"))
        files.write_if_due(kernel_id, session.search_id)
        made.append(step_of(report))
        progress.found(f"step {len(made)} of {steps}: {report.changed}: {report.ending}")
        progress.checkpoint(
            SearchStepArguments(search_id=session.search_id, steps=max(1, steps - len(made)))
        )
    return made, None


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
