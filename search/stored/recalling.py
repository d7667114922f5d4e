"""A kernel's memory, read from the store."""

from __future__ import annotations

from ...store.lessons import grouping, memory_rows
from ...store.store import Store
from ..digest import Taught, taught
from ..housekeeping.grouping import Group, Grouping, grouped
from ..memory import Lesson, Memory


def recall(store: Store, kernel_id: str, until: str | None = None) -> Memory:
    """What searches of a kernel tried, by idea, with endings and lessons.

    `until`: the last row that counts (`Store.last`), so that a search sees what there was when it
    began, whatever others add; None: all.
    """
    return Memory(map(Lesson.model_validate, memory_rows(store, kernel_id, until)))


def groups_of(store: Store, kernel_id: str) -> tuple[Group, ...]:
    """Lines of a kernel's memory that somebody put together."""
    row = grouping(store, kernel_id)
    return () if row is None else Grouping.model_validate(row).groups


def in_short(store: Store, kernel_id: str) -> tuple[Taught, ...]:
    """A kernel's memory by what it has taught, with what somebody put together as one line each."""
    return grouped(taught(recall(store, kernel_id).lessons), groups_of(store, kernel_id))
