"""`events.jsonl`: what happened to a kernel, a line each, appended as it happens."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ...runners.model import Comparison, Record, ReferenceTimes
from ...store.records import now
from ..engine.decisions import BackedUp, Expanded, Foreseen, Pruned, Selected
from ..stored.records import SearchStopped, StepReport

EVENTS = "events.jsonl"


class _Line(Record):
    time: str
    """UTC, ISO 8601: when the line was written"""


class SelectedLine(_Line, Selected):
    """A walk of the search came through a node and took one of its arms."""


class ExpandedLine(_Line, Expanded):
    """Candidates were proposed from a node."""


class PrunedLine(_Line, Pruned):
    """A candidate was put aside without an evaluation."""


class ForeseenLine(_Line, Foreseen):
    """A candidate that keeps away from the hot region is about to be built."""


class BackedUpLine(_Line, BackedUp):
    """An outcome was recorded, and what nodes are worth by it."""


class StepLine(_Line, StepReport):
    """A candidate was evaluated."""

    event: Literal["step"]


class AskedLine(_Line):
    """The search waits for candidates of whoever plans."""

    event: Literal["asked"]
    search_id: str
    ticket: str
    node: str


class AnswerLine(_Line):
    """Whoever plans has answered. Calls, tokens and dollars are those of the search so far; none
    where a client plans."""

    event: Literal["answer"]
    ticket: str
    candidates: int
    notes: tuple[str, ...]
    calls: int | None = None
    tokens: int | None = None
    usd: str | None = None


class StoppedLine(_Line, SearchStopped):
    """The search has its stop verdict."""

    event: Literal["stopped"]


class ConfirmedLine(_Line):
    """The winner's gates were run."""

    event: Literal["confirmed"]
    variant_id: str
    right: bool
    visible: Comparison | None
    held_out: Comparison | None
    first: float | None
    reference: ReferenceTimes | None = None
    accepted: bool
    message: str


class NoListingLine(_Line):
    """SASS could not be listed."""

    event: Literal["no listing"]
    why: str


EventLine = Annotated[
    SelectedLine
    | ExpandedLine
    | PrunedLine
    | ForeseenLine
    | BackedUpLine
    | StepLine
    | AskedLine
    | AnswerLine
    | StoppedLine
    | ConfirmedLine
    | NoListingLine,
    Field(discriminator="event"),
]


def append_events(folder: Path, events: Iterable[dict[str, Any]]) -> None:
    """More lines of the file in a kernel's folder; each has `event`, the time is added."""
    when = now()
    lines = "".join(json.dumps({"time": when, **each}) + "\n" for each in events)
    if not lines:
        return
    folder.mkdir(parents=True, exist_ok=True)
    # One write to a file opened for appending: lines of two processes do not mix.
    fd = os.open(folder / EVENTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(fd, lines.encode())
    finally:
        os.close(fd)
