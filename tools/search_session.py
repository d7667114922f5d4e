"""A search over one kernel: the engine decides, the evaluator evaluates, the store remembers."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..runners.model import Candidate, Ending, Record
from ..search.settings import Settings
from .workbench import Workbench

PlannerName = Literal["rules", "client"]


class SearchRecord(Record):
    """A search as the store keeps it; the graph lies in the tables nodes and edges."""

    search_id: str
    kernel_id: str
    planner: PlannerName
    settings: Settings
    started_at: str
    stopped: str | None = None
    """reason of the stop verdict"""
    stopped_text: str = ""


class StepReport(Record):
    """One step of a search: what was tried and how it ended."""

    search_id: str
    step: int
    parent: str
    variant_id: str | None
    method: str
    detail: str
    changed: str
    """what the candidate changed, in words: `TILE=32`, `source`, `options`"""
    ending: Ending
    message: str
    speedup: float | None
    interval: tuple[float, float] | None
    became_incumbent: bool
    duplicate: bool
    """the variant was known already: nothing was built or run"""
    builds: int
    budget: int


class NeedsCandidates(Record):
    """The search waits for candidates: send them with the ticket."""

    search_id: str
    ticket: str
    variant_id: str
    source: str
    parameters: dict[str, int]
    speedup: float | None
    tried: tuple[dict[str, object], ...] = ()
    headroom: str = ""
    wanted: int = 1


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
    stopped: str | None = None
    stopped_text: str = ""


class SearchSession:
    """Drives one search. `start` makes a new one, `resume` continues one from the store."""

    @classmethod
    def start(
        cls, bench: Workbench, kernel_id: str, settings: Settings, planner: PlannerName = "rules"
    ) -> SearchSession:
        """A new search from the kernel's baseline."""
        raise KeyError

    @classmethod
    def resume(cls, bench: Workbench, search_id: str) -> SearchSession:
        """A search from the store; what was in flight when its process ended is tried again."""
        raise KeyError

    def step(self) -> StepReport | NeedsCandidates | SearchStopped:
        """One evaluation (or the question, or the stop verdict); on disk when it returns."""
        raise KeyError

    def answer(self, ticket: str, candidates: tuple[Candidate, ...]) -> None:
        """Take candidates for a ticket. Raises HandleUnknown for a ticket that is not open."""
        raise KeyError

    def status(self) -> SearchStatus:
        """Where the search stands."""
        raise KeyError
