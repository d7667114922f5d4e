"""What a search does as lines of `events.jsonl`."""

from __future__ import annotations

from collections.abc import Sequence

from ..outdir.kernel_files import JsonObject, KernelFiles
from ..stored.records import NeedsCandidates, SearchStopped, StepReport
from .session import SearchSession, Step


def tell(files: KernelFiles, session: SearchSession, came: Step | None = None) -> None:
    """Append what the engine decided since the last time, and what came of it."""
    decisions = [each.model_dump(mode="json") for each in session.decisions()]
    files.append_all(session.record.kernel_id, [*decisions, *_came(came)])


def tell_answer(
    files: KernelFiles,
    session: SearchSession,
    ticket: str,
    candidates: int,
    notes: Sequence[str],
    **costs: object,
) -> None:
    """Append that a question was answered, and what was made of the candidates. `costs`: calls,
    tokens and usd of the search so far, where a driver answered."""
    facts = {"ticket": ticket, "candidates": candidates, "notes": list(notes), **costs}
    files.append(session.record.kernel_id, "answer", facts)
    tell(files, session)


def _came(came: Step | None) -> list[JsonObject]:
    match came:
        case StepReport():
            return [{"event": "step", **came.model_dump(mode="json")}]
        case SearchStopped():
            return [{"event": "stopped", **came.model_dump(mode="json")}]
        case NeedsCandidates():
            node = came.question.variant_id
            asked = {"search_id": came.search_id, "ticket": came.ticket, "node": node}
            return [{"event": "asked", **asked}]
        case None:
            return []
