"""What a search says of itself: its record, its steps, its questions and its end."""

from __future__ import annotations

from pydantic import Field

from ..runners.model import Ending, Record
from ..search.planner import Question
from ..search.planners import PlannerName
from ..search.settings import Settings


class SearchRecord(Record):
    """A search as the store keeps it; the graph lies in the tables nodes and edges."""

    search_id: str
    kernel_id: str
    planner: PlannerName
    settings: Settings
    started_at: str
    stopped: str | None = None
    """reason of the stop verdict: budget, patience, exhausted or headroom"""
    stopped_text: str = ""


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
    duplicate: bool
    """the variant was known to this search: nothing was built or run"""
    builds: int
    budget: int


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
    incumbent: str
    best_speedup: float
    interval: tuple[float, float] | None
    endings: dict[str, int] = Field(default_factory=dict[str, int])
    """how many variants ended how"""
    stopped: str | None = None
    stopped_text: str = ""


class Ticket(Record):
    """A question that was put to a client."""

    search_id: str
    node_id: str
    answered: bool = False
