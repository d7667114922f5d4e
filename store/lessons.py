"""What searches leave for later ones: transitions, memories of kernels, the ledger, ReGraphs, what
was said of methods' names.

Rows are those that `search/` writes and reads; each list only grows, so that a search can be shown
what there was when it began.
"""

from __future__ import annotations

from pydantic import BaseModel

from .codec import JsonObject
from .store import Store
from .writer import Writer

TRANSITIONS, MEMORY, LEDGER, LABELS = "transitions", "memory", "ledger", "labels"
META = "meta"
GROUPING = "grouping/"
"""keys in `meta` of what somebody made of a kernel's memory, by kernel"""
IMPORTED = "regraph/"
"""keys in `meta` of ReGraphs that were imported, by digest"""


def transition_rows(
    store: Store, after: str = "", until: str | None = None
) -> list[tuple[str, JsonObject]]:
    """Transitions by their keys, in order, those after one and up to another; None: to the last."""
    return store.appended(TRANSITIONS, after, until)


def last_transition(store: Store) -> str:
    """The key of the newest transition; "" where there is none."""
    return store.last(TRANSITIONS)


def memory_rows(store: Store, kernel_id: str, until: str | None = None) -> list[JsonObject]:
    """What was tried on a kernel, in order, up to a row; None: all."""
    rows = store.appended(MEMORY, until=until)
    return [row for _, row in rows if row["kernel_id"] == kernel_id]


def last_memory(store: Store) -> str:
    """The key of the newest memory of any kernel; "" where there is none."""
    return store.last(MEMORY)


def append_transition(writer: Writer, step: BaseModel) -> None:
    """Keep one evaluated step."""
    writer.append(TRANSITIONS, step.model_dump(mode="json"))


def append_memory(writer: Writer, lesson: BaseModel) -> None:
    """Keep what a kernel's memory holds of a step."""
    writer.append(MEMORY, lesson.model_dump(mode="json"))


def append_spent(writer: Writer, spent: JsonObject) -> None:
    """Keep what a step cost."""
    writer.append(LEDGER, spent)


def label_rows(store: Store, until: str | None = None) -> list[JsonObject]:
    """What was said of names, in order, up to a row; None: all."""
    return [row for _, row in store.appended(LABELS, until=until)]


def last_label(store: Store) -> str:
    """The key of the newest word on a name; "" where there is none."""
    return store.last(LABELS)


def append_label(writer: Writer, label: BaseModel) -> None:
    """Keep a word on a name."""
    writer.append(LABELS, label.model_dump(mode="json"))


def imported_regraphs(store: Store) -> dict[str, JsonObject]:
    """ReGraphs of elsewhere, by digest."""
    return {key.removeprefix(IMPORTED): row for key, row in store.items(META, IMPORTED)}


def put_regraph(writer: Writer, digest: str, graph: BaseModel) -> None:
    """Keep a ReGraph of elsewhere; twice is once."""
    writer.put_record(META, IMPORTED + digest, graph)


def grouping(store: Store, kernel_id: str) -> JsonObject | None:
    """What somebody made of a kernel's memory; None: nobody did."""
    return store.get(META, GROUPING + kernel_id)


def put_grouping(writer: Writer, kernel_id: str, made: BaseModel) -> None:
    """Keep what somebody made of a kernel's memory, in place of what was made before."""
    writer.put_record(META, GROUPING + kernel_id, made)
