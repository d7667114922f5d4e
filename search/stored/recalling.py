"""A kernel's memory, read from the store."""

from __future__ import annotations

from ...store.lessons import memory_rows
from ...store.store import Store
from ..memory import Lesson, Memory


def recall(store: Store, kernel_id: str, until: str | None = None) -> Memory:
    """What searches of a kernel tried, by idea, with endings and lessons.

    `until`: the last row that counts (`Store.last`), so that a search sees what there was when it
    began, whatever others add; None: all.
    """
    return Memory(map(Lesson.model_validate, memory_rows(store, kernel_id, until)))
