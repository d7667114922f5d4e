"""Whole searches of the tiny kernel that a scripted model answers, and what they cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kernels import DOES_NOT_BUILD, FASTER, SOURCE, WRONG
from messages_api import Says, candidates

from kernelwright.runners.model import Ending
from kernelwright.search.session.exchanges import Costs, ExchangeRecord
from kernelwright.search.session.optimize import Event, Finished
from kernelwright.search.stored.records import StepReport

FLAGS = {"method": "flags", "detail": "vectorise", "options": FASTER}
BROKEN = {"method": "rewrite", "detail": "counts j", "source": DOES_NOT_BUILD}
CHEAT = {"method": "skip", "detail": "one element", "source": WRONG}
MENDED = {"method": "mend", "detail": "i again", "source": SOURCE.replace("a * x[i]", "x[i] * a")}
A_CALL = Decimal("0.006")
"""dollars of a call with the usual tokens: 1000 * 4 + 100 * 20, in millionths"""


@dataclass(frozen=True)
class Ran:
    """One run of `optimize`: its events, what was sent in it, and what its search had cost then."""

    events: list[Event]
    asked: list[dict[str, Any]]
    calls: list[ExchangeRecord]
    costs: Costs

    @property
    def steps(self) -> dict[str, Ending]:
        """Endings by detail."""
        return {each.detail: each.ending for each in self.events if isinstance(each, StepReport)}

    @property
    def stopped(self) -> str | None:
        """The reason of the stop verdict."""
        (finished,) = (each for each in self.events if isinstance(each, Finished))
        return finished.status.stopped


Run = Callable[..., Ran]


def question(body: dict[str, Any]) -> str:
    """The part of the brief that a call tells of its variant."""
    return body["messages"][0]["content"][0]["text"]


def is_first(body: dict[str, Any]) -> bool:
    """Whether a call asks about the baseline, of which nothing was tried yet."""
    told = question(body)
    return "this is the baseline" in told and "Tried from here" not in told


def first_then_nothing(*first: dict[str, Any]) -> Callable[[dict[str, Any]], Says]:
    """A model that has ideas for the untouched baseline alone."""

    def says(body: dict[str, Any]) -> Says:
        return Says(candidates(*first) if is_first(body) else candidates())

    return says
