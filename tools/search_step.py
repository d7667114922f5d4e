"""The verb `search_step`: start a search, advance it, answer its question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import ConfigDict, Field, model_validator

from ..runners import progress
from ..search.applying.sent import SentCandidate, renamed
from ..search.settings import Settings
from .base import Tool, WorkArguments
from .parts.describing import resolve_variant
from .parts.jobs import naming_the_job
from .parts.origin import load_path
from .parts.search_answer import Made, Searched, told

if TYPE_CHECKING:
    from ..search.planning.brief import Brief
    from ..search.session.session import SearchSession
    from ..search.session.workbench import Workbench
    from ..search.stored.records import NeedsCandidates, SearchStopped
    from ..store.records import KernelRecord


USUAL_STEPS = 5


class SearchStepArguments(WorkArguments):
    """Which search, how far, and the answer to its question if it asked one."""

    model_config = ConfigDict(serialize_by_alias=True)
    told_elsewhere: ClassVar[Mapping[str, str]] = {
        "BuildOptions": "as in compile_variant",
        "Settings": 'such as {"budget_builds": 50, "budget_seconds": 600}; inspect what settings '
        "tells all",
    }

    kernel_id: str | None = None
    """starts a new search"""
    source_path: str | None = None
    """starts a new search too: a source or spec file, opened as open_kernel does"""
    goal: str | None = Field(default=None, max_length=2000)
    """with source_path, as in open_kernel"""
    search_id: str | None = None
    """goes on with a search"""
    planner: Literal["rules", "client"] | None = None
    """of a new search; default rules"""
    settings: Settings | None = None
    """of a new search"""
    origin: str | None = Field(default=None, alias="from")
    """where a new search starts: incumbent (default), baseline, or a variant_id"""
    steps: int | None = Field(default=None, ge=1, le=100)
    """evaluations at most in this call; default 5, and with candidates one for each"""
    ticket: str | None = None
    """the question that candidates answer"""
    candidates: tuple[SentCandidate, ...] | None = Field(default=None, max_length=32)
    """with a ticket; an empty list: there is nothing more to try"""

    @classmethod
    def as_named(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Candidates as models write them (`renamed`)."""
        listed: Any = given.get("candidates")
        if not isinstance(listed, list):
            return given
        sent = [_renamed(each) for each in cast(list[Any], listed)]
        return {**given, "candidates": sent}

    @model_validator(mode="after")
    def _one_search(self) -> SearchStepArguments:
        named = (self.kernel_id, self.source_path, self.search_id)
        if sum(each is not None for each in named) != 1:
            raise ValueError(
                "give exactly one: kernel_id or source_path to start a search, search_id to go on "
                "with one"
            )
        if self.goal and self.source_path is None:
            raise ValueError("`goal` goes with source_path")
        if self.search_id is not None and (self.planner or self.settings or self.origin):
            raise ValueError(
                "planner, settings and from are given when a search starts (kernel_id)"
            )
        if (self.ticket is None) != (self.candidates is None):
            raise ValueError("ticket and candidates are given together")
        if self.ticket is not None and self.search_id is None:
            raise ValueError("a ticket is answered with its search_id")
        return self


def search_step(bench: Workbench, arguments: SearchStepArguments) -> Searched:
    """Start a search, advance it by some evaluations, or answer its question.

    From a kernel_id, or at once from a file (source_path). Planner `rules` tunes parameters,
    constants and flags by itself. Planner `client` asks you: the reply holds needs_candidates with
    a ticket; answer with search_id, ticket and candidates (method with any of diff, source, plan,
    parameters, options). A search keeps account of all that was tried, and stops by budget,
    patience or when nothing is left. Takes 1 to 20 s an evaluation; more than wait_s becomes a job.
    For one candidate use compile_variant and time_variant.
    Example: {"kernel_id": "softmax-1a2b3c4d", "planner": "rules", "steps": 5}
    """
    with naming_the_job(bench, arguments.search_id):
        return _stepped(bench, arguments)


def _stepped(bench: Workbench, arguments: SearchStepArguments) -> Searched:
    """The answer to the call. Raises SearchBusy."""
    from ..search.session.telling import tell_answer

    earlier = progress.earlier()
    made = Made.after(None if earlier is None else Searched.model_validate(earlier))
    session, others = _session(bench, arguments)
    made.notes = (*others, *made.notes)
    with bench.sessions.lent(session):
        if arguments.ticket is not None:
            made.notes = session.answer(arguments.ticket, arguments.candidates or ())
            sent = len(arguments.candidates or ())
            tell_answer(bench.files, session, arguments.ticket, sent, made.notes)
        steps = arguments.steps or len(arguments.candidates or ()) or USUAL_STEPS
        end = _advance(bench, session, steps, made)
        return told(bench, session, made, end, _brief(bench, end))


def _renamed(sent: Any) -> Any:
    return renamed(cast(dict[str, Any], sent)) if isinstance(sent, dict) else sent


def _brief(bench: Workbench, end: NeedsCandidates | SearchStopped | None) -> Brief | None:
    from ..search.stored.records import NeedsCandidates
    from .brief.assemble import brief_of

    if not isinstance(end, NeedsCandidates):
        return None
    return brief_of(bench, end.question.variant_id, end.question)


def _session(
    bench: Workbench, arguments: SearchStepArguments
) -> tuple[SearchSession, tuple[str, ...]]:
    """The search, and of a new one who else is on its GPU."""
    from ..evaluation.rig.preflight import preflight
    from ..search.session.session import SearchSession

    if arguments.search_id is not None:
        return bench.sessions.resume(bench, arguments.search_id), ()
    kernel, settings = _kernel(bench, arguments), arguments.settings or Settings()
    others = preflight(bench.gpus, kernel.loaded, settings.busy_gpu)
    started = SearchSession.start(
        bench,
        kernel.kernel_id,
        settings,
        arguments.planner or "rules",
        resolve_variant(bench, kernel, arguments.origin or "incumbent").variant.variant_id,
    )
    return started, others


def _kernel(bench: Workbench, arguments: SearchStepArguments) -> KernelRecord:
    if arguments.source_path is not None:
        return bench.evaluator.open(load_path(bench, arguments.source_path, arguments.goal or ""))
    return bench.evaluator.kernel(arguments.kernel_id or "")


def _advance(
    bench: Workbench, session: SearchSession, steps: int, made: Made
) -> NeedsCandidates | SearchStopped | None:
    """Step until so many evaluations are made, or a question or the stop verdict comes. Raises
    Cancelled."""
    from ..search.session.telling import tell
    from ..search.stored.records import StepReport

    files, kernel_id = bench.files, session.record.kernel_id
    number = 0
    while number < steps:
        going_on = SearchStepArguments(search_id=session.search_id, steps=steps - number)
        progress.checkpoint(going_on, told(bench, session, made, None))
        progress.stop_if_cancelled()
        report = session.step(more=steps - number - 1)
        tell(files, session, report)
        if not isinstance(report, StepReport):
            files.write(kernel_id, session.search_id)
            return report
        files.write_if_due(kernel_id, session.search_id)
        if not made.add(report, asked_for=session.record.planner == "client"):
            continue
        number += 1
        progress.found(f"step {number} of {steps}: {report.changed}: {report.ending}")
    files.write(kernel_id, session.search_id)
    return None


TOOL = Tool(
    name="search_step",
    title="Advance a search",
    run=search_step,
    arguments=SearchStepArguments,
    result=Searched,
    search_hint="optimize automatically: make a kernel faster, autotune, tune parameters, "
    "search, speed up matmul",
    starts=True,
    read_only=False,
    idempotent=False,
    work=True,
)
